"""Several networks in one training loop: each loop compiled, against eager code; files of both never lose one."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops


@pytest.fixture(autouse=True)
def graph_mode():
    yield
    ms.set_context(mode=ms.GRAPH_MODE)


def layers(*sizes):
    made = [x for n, m in itertools.pairwise(sizes) for x in (nn.Dense(n, m), nn.Tanh())]
    return nn.SequentialCell(*made[:-1])


class Adversaries:
    """A GAN: each network is trained by the other."""

    def __init__(self):
        self.make, self.judge = layers(2, 8, 2), layers(2, 8, 1)
        makes = nn.Adam(self.make.trainable_params(), 1e-2)
        judges = nn.Adam(self.judge.trainable_params(), 1e-2)
        bce = nn.BCEWithLogitsLoss()

        def loss_of_judge(real, z):
            made = ops.stop_gradient(self.make(z))
            return bce(self.judge(real), ops.ones((8, 1))) + bce(self.judge(made), ops.zeros((8, 1)))

        def loss_of_maker(z):
            return bce(self.judge(self.make(z)), ops.ones((8, 1)))

        by_judge = ms.value_and_grad(loss_of_judge, None, judges.parameters)
        by_maker = ms.value_and_grad(loss_of_maker, None, makes.parameters)

        def step(real, z):
            of_judge, slopes = by_judge(real, z)
            judges(slopes)
            of_maker, slopes = by_maker(z)
            makes(slopes)
            return of_judge, of_maker

        self.step, self.networks = step, [self.make, self.judge]

    def batch(self, rng):
        return rng.standard_normal((8, 2)) + 2, rng.standard_normal((8, 2))


class ActorAndCritic:
    """An actor, a critic, and a slow copy of the critic."""

    def __init__(self):
        actor, critic = layers(3, 8, 4), layers(3, 8, 1)
        slow = copy.deepcopy(critic)
        acts, judges = nn.Adam(actor.trainable_params(), 1e-2), nn.Adam(critic.trainable_params(), 1e-2)

        def error(now, reward, then):
            goal = reward + 0.9 * ops.stop_gradient(slow(then))
            return ((critic(now) - goal) ** 2).mean()

        def regret(now, action, gain):
            chosen = (ops.log_softmax(actor(now), -1) * action).sum(-1, keepdims=True)
            return -(chosen * gain).mean()

        by_critic = ms.value_and_grad(error, None, judges.parameters)
        by_actor = ms.value_and_grad(regret, None, acts.parameters)

        def step(now, action, reward, then):
            gain = ops.stop_gradient(reward + 0.9 * slow(then) - critic(now))
            of_critic, slopes = by_critic(now, reward, then)
            judges(slopes)
            of_actor, slopes = by_actor(now, action, gain)
            acts(slopes)
            for p, q in zip(slow.get_parameters(), critic.get_parameters(), strict=True):
                ops.assign(p, 0.9 * p + 0.1 * q)
            return of_critic, of_actor

        self.step, self.networks = step, [actor, critic, slow]

    def batch(self, rng):
        action = np.eye(4)[rng.integers(0, 4, 8)]
        return rng.standard_normal((8, 3)), action, rng.standard_normal((8, 1)), rng.standard_normal((8, 3))


class TeacherAndStudent:
    """A student that is trained by the answers of a fixed teacher, as one Cell of both."""

    def __init__(self):
        class Distill(nn.Cell):
            def __init__(self):
                super().__init__()
                self.teacher, self.student = layers(3, 16, 5), layers(3, 4, 5)
                for p in self.teacher.get_parameters():
                    p.requires_grad = False

            def construct(self, x):
                right = ops.softmax(self.teacher(x) / 2, -1)
                return -(right * ops.log_softmax(self.student(x) / 2, -1)).sum(-1).mean()

        both = Distill()
        train = nn.TrainOneStepCell(both, nn.Momentum(both.trainable_params(), 0.1, 0.9))
        self.step, self.networks = train, [both.teacher, both.student]

    def batch(self, rng):
        return (rng.standard_normal((8, 3)),)


def trained(kind, mode):
    """The losses of a few steps and all weights after them."""
    ms.set_context(mode=mode)
    ms.set_seed(5)
    loop, rng = kind(), np.random.default_rng(6)
    step = ms.jit(loop.step) if mode == ms.GRAPH_MODE and not isinstance(loop.step, nn.Cell) else loop.step
    before = [p.asnumpy().copy() for net in loop.networks for p in net.get_parameters()]
    losses = [step(*(Tensor(x.astype(np.float32)) for x in loop.batch(rng))) for _ in range(6)]
    after = [p.asnumpy().copy() for net in loop.networks for p in net.get_parameters()]
    return [np.array(x, np.float64) for x in losses], before, after


@pytest.mark.parametrize("kind", [Adversaries, ActorAndCritic, TeacherAndStudent])
def test_loops_of_several_networks_run_compiled_as_they_run_eagerly(kind):
    losses, before, after = trained(kind, ms.PYNATIVE_MODE)
    found, before_, after_ = trained(kind, ms.GRAPH_MODE)
    np.testing.assert_allclose(found, losses, rtol=1e-4, atol=1e-6)
    for a, b in zip([*before, *after], [*before_, *after_], strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-5)
    changed = [not np.array_equal(a, b) for a, b in zip(before, after, strict=True)]
    assert changed.count(False) == (4 if kind is TeacherAndStudent else 0)  # the teacher's


# ------------------------------------------------------------------------------------------------ files
def pair():
    return nn.Dense(2, 3), nn.Dense(3, 1)


@pytest.mark.parametrize(
    ("save", "message"),
    [
        (lambda a, b, f: ms.save_checkpoint([a, b], f), "holds Parameters, this one a Dense; save each network into"),
        (lambda a, b, f: ms.save_checkpoint((a, b), f), "not a tuple; save each network into a file of its own, or"),
        (lambda a, b, f: ms.save_checkpoint({"a": a}, f), "a Dense called 'a'; save each network into a file of"),
        (lambda a, b, f: ms.save_checkpoint(a, f, append_dict={"b": b}), "a Dense called 'b'; save each network into"),
        (lambda a, b, f: ms.save_checkpoint([*a.get_parameters(), *b.get_parameters()], f), r"nn.CellList\(\[a, b\]\)"),
        (lambda a, b, f: ms.save_checkpoint(a, f, append_dict=b.parameters_dict()), r"nn.CellList\(\[a, b\]\)"),
        (lambda a, b, f: nn.Adam([*a.trainable_params(), *b.trainable_params()]), r"nn.CellList\(\[a, b\]\)"),
    ],
)
def test_what_would_lose_a_network_says_what_to_do(save, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        save(*pair(), str(tmp_path / "both.ckpt"))
    assert not list(tmp_path.iterdir())


def test_what_the_messages_say_works(tmp_path):
    """One file of both, as one network or renamed, and one optimizer of both."""
    a, b = pair()
    both = nn.CellList([a, b])
    ms.save_checkpoint(both, str(tmp_path / "both.ckpt"))
    other = nn.CellList([*pair()])
    assert ms.load_param_into_net(other, ms.load_checkpoint(str(tmp_path / "both.ckpt"))) == ([], [])
    for p, q in zip(both.get_parameters(), other.get_parameters(), strict=True):
        np.testing.assert_array_equal(p.asnumpy(), q.asnumpy())
    assert len(nn.Adam(both.trainable_params()).parameters) == 4
    a, b = pair()
    b.update_parameters_name("b.")
    ms.save_checkpoint([*a.get_parameters(), *b.get_parameters()], str(tmp_path / "renamed.ckpt"))
    assert sorted(ms.load_checkpoint(str(tmp_path / "renamed.ckpt"))) == ["b.bias", "b.weight", "bias", "weight"]
