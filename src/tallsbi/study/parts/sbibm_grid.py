"""The grid of the sbibm tasks: tasks, numbers of observations, sizes of training sets, parameter sets."""

from dataclasses import dataclass

from tallsbi.study.parts.part import TrainedPart


@dataclass(frozen=True, eq=False)
class SbibmGrid(TrainedPart):
    name = "sbibm"

    @property
    def main_tasks(self) -> list[str]:
        """The tasks of the main text."""
        return self.section["tasks"]

    @property
    def paper_tasks(self) -> list[str]:
        """The tasks of the main text and of the appendix."""
        return [*self.main_tasks, *self.section["extra_tasks"]]

    @property
    def problems(self) -> list[str]:
        """The tasks of the paper, and those that only studies beyond it show."""
        return [*self.paper_tasks, *self.section["beyond_tasks"]]

    @property
    def shown_problems(self) -> list[str]:
        return self.main_tasks

    @property
    def n_train(self) -> list[int]:
        return self.section["n_train"]

    @property
    def most_simulations(self) -> int:
        return max(self.n_train)

    @property
    def n_obs(self) -> list[int]:
        return self.section["n_obs"]

    @property
    def shown_n_obs(self) -> list[int]:
        """The n of tables and pair plots that this run has; at small scales all of them."""
        listed = [n for n in self.section["table_n_obs"] if n in self.n_obs]
        return listed if len(listed) > 1 else self.n_obs

    @property
    def batches(self) -> int:
        """Into how many jobs the parameter sets are split."""
        return min(self.section["batches"], *map(self.sets_of, self.paper_tasks))

    def n_obs_of(self, problem: str) -> list[int]:
        """The n at which a task is sampled; each has a reference."""
        if problem in self.main_tasks:
            return self.n_obs
        return [n for n in self.n_obs if n >= self.section["extra_min_n"]] or [max(self.n_obs)]

    def sets_of(self, problem: str) -> int:
        """How many parameter sets of a task are sampled."""
        sets = self.section["sets"]
        return sets if problem in self.main_tasks else min(sets, self.section["extra_max_sets"])

    def present_tasks(self, tasks: list[str]) -> list[str]:
        """Those of the tasks that the run has."""
        return [task for task in tasks if task in self.problems]
