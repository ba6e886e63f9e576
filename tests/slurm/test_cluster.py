"""When the SLURM of the tests refuses to start, and what it says. Needs neither root nor SLURM."""

import socket

import cluster
import pytest


@pytest.fixture(autouse=True)
def able(monkeypatch, tmp_path):
    """A machine on which SLURM could run; nothing of the real one is touched."""
    monkeypatch.setattr(cluster, "CONF", tmp_path / "slurm.conf")
    monkeypatch.setattr(cluster, "STATE", tmp_path / "state")
    monkeypatch.setattr(cluster, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(cluster.os, "geteuid", lambda: 0)
    monkeypatch.setattr(cluster.shutil, "which", lambda command: f"/usr/bin/{command}")
    monkeypatch.setattr(cluster.socket, "gethostbyname", lambda host: "127.0.0.1")


def test_ready_machine_is_accepted():
    cluster.check()


def test_without_root_it_says_so(monkeypatch):
    monkeypatch.setattr(cluster.os, "geteuid", lambda: 1000)
    with pytest.raises(cluster.Unavailable, match="root"):
        cluster.check()


def test_without_slurm_and_apt_it_names_the_packages(monkeypatch):
    monkeypatch.setattr(cluster.shutil, "which", lambda command: None)
    with pytest.raises(cluster.Unavailable, match="slurm-wlm and munge"):
        cluster.check()


def test_host_without_address_is_named(monkeypatch):
    def fail(host):
        raise socket.gaierror

    monkeypatch.setattr(cluster.socket, "gethostbyname", fail)
    with pytest.raises(cluster.Unavailable, match="/etc/hosts"):
        cluster.check()


@pytest.mark.parametrize("command", ["install", "start", "stop"])
def test_configuration_of_another_slurm_is_left_alone(command):
    cluster.CONF.write_text("ClusterName=production\n")
    with pytest.raises(cluster.Unavailable, match="another SLURM"):
        cluster.main(command)
    assert cluster.CONF.read_text() == "ClusterName=production\n"


def test_stop_removes_what_a_killed_run_left():
    cluster.CONF.write_text(cluster.configuration("here"))
    cluster.STATE.mkdir()
    # A number that belongs to no process, and one that belongs to this one: neither is a daemon of ours.
    (cluster.STATE / "slurmctld.pid").write_text("4194305\n")
    (cluster.STATE / "munged.pid").write_text(f"{cluster.os.getpid()}\n")
    cluster.main("stop")
    assert not cluster.CONF.exists()
    assert not cluster.STATE.exists()


def test_second_run_leaves_the_first_alone():
    cluster.CONF.write_text(cluster.configuration("here"))
    with cluster._locked(), pytest.raises(cluster.Unavailable, match="another `make slurm-test`"):
        cluster.main("stop")
    assert cluster.CONF.exists()
