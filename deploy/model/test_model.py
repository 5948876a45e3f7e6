"""Tests of the model: python3 -m unittest test_model."""
import unittest
from dataclasses import replace

import numpy as np

import model
from model import Costs, Simulation, World, simulate, worst

SMALL = World(servers=20, guests_per_server=200)


class Conservation(unittest.TestCase):
    def test_every_guest_is_at_the_server_of_its_column_and_none_is_lost(self):
        simulation = Simulation(SMALL)
        for _ in range(12):
            step = simulation.step()
            self.assertEqual(step.guests.sum(), 20 * 200)
            column = simulation.column(simulation.at)
            self.assertTrue((simulation.owner[column] == simulation.server).all())
            self.assertTrue((simulation.server >= 0).all())
            self.assertEqual(step.columns.sum(), step.owners)

    def test_a_column_is_kept_for_a_minute_after_its_last_guest(self):
        simulation = Simulation(World(servers=1, guests_per_server=1, in_towns=0.0))
        simulation.step()
        old = simulation.column(simulation.at)[0]
        simulation.at[:] = simulation.home[:] = (simulation.at + model.COLUMN * 1.5) % (simulation.world.side * model.COLUMN)
        owned = []
        for _ in range(model.IDLE_STEPS + 1):
            simulation.step()
            owned.append(simulation.owner[old] >= 0)
        self.assertEqual(owned, [True] * (model.IDLE_STEPS - 1) + [False] * 2)

    def test_what_a_server_is_beside_is_what_two_guests_see_of_each_other(self):
        simulation = Simulation(World(servers=2, guests_per_server=1, columns_per_server=2, in_towns=0.0))
        self.assertEqual(simulation.world.side, 2)
        # On both sides of a border, and near no other one.
        simulation.at[:] = simulation.home[:] = [[model.COLUMN - 20, 4000], [model.COLUMN + 20, 4000]]
        world = simulation.world
        simulation.world = replace(world, speed=0.0)
        step = simulation.step()
        self.assertEqual(sorted(step.guests), [1, 1])
        self.assertEqual(list(step.near), [1, 1])
        self.assertEqual(list(step.near_strokes_of), [1, 1])
        self.assertEqual(list(step.watched), [3, 3])


class Determinism(unittest.TestCase):
    def test_a_seed_gives_one_result_and_another_seed_another(self):
        shares = [worst(simulate(world, 5), Costs()) for world in (SMALL, SMALL, replace(SMALL, seed=2))]
        self.assertEqual(shares[0], shares[1])
        self.assertNotEqual(shares[0], shares[2])


class Monotonicity(unittest.TestCase):
    def test_a_dearer_unit_never_makes_anything_cheaper(self):
        steps, costs = simulate(SMALL, 5), Costs()
        before = worst(steps, costs)
        for name in model.DOUBLED:
            after = worst(steps, replace(costs, **{name: 2 * getattr(costs, name)}))
            self.assertTrue(all(after[part] >= before[part] for part in before), name)
            self.assertTrue(any(after[part] > before[part] for part in before), name)
            self.assertGreaterEqual(model.primaries(after), model.primaries(before))

    def test_more_servers_ask_more_of_the_database(self):
        shares = [worst(simulate(replace(SMALL, servers=servers), 5), Costs()) for servers in (5, 20, 80)]
        for part in ("database: processor", "database: log to disk", "database: connections"):
            self.assertLess(shares[0][part], shares[1][part])
            self.assertLess(shares[1][part], shares[2][part])

    def test_more_strokes_make_more_commits_up_to_the_pause_between_saves(self):
        costs = Costs()
        rates = model.commits_of(np.array([0.0, 1.0, 10.0, 100.0, 1e9]), costs)
        self.assertEqual(rates[0], 0)
        self.assertTrue((np.diff(rates) > 0).all())
        self.assertAlmostEqual(rates[-1], 1000 / (costs.save_pause_ms + costs.commit_ms), places=3)


class Records(unittest.TestCase):
    def test_strokes_of_one_save_share_coarse_blocks_and_nothing_else(self):
        costs = Costs()

        def records(strokes, commits, columns):
            return float(model.records_of(np.array([strokes]), np.array([commits]), np.array([columns]), costs)[0])

        self.assertAlmostEqual(records(1.0, 1.0, 1), costs.records + 4)
        self.assertAlmostEqual(records(10.0, 10.0, 3), 10 * (costs.records + 4))
        self.assertLess(records(10.0, 1.0, 3), records(10.0, 10.0, 3))
        self.assertGreater(records(10.0, 1.0, 3), records(10.0, 1.0, 1))
        self.assertGreater(records(1e6, 1.0, 1), 1e6 * costs.records + 84.9)


class Breaking(unittest.TestCase):
    def test_the_size_at_which_a_share_becomes_one_lies_on_the_line_of_powers(self):
        self.assertIsNone(model.breaks_at([1, 10], [0.1, 0.9]))
        self.assertEqual(model.breaks_at([1, 10], [2.0, 3.0]), 1)
        self.assertAlmostEqual(model.breaks_at([1, 100], [0.1, 10.0]), 10)


if __name__ == "__main__":
    unittest.main()
