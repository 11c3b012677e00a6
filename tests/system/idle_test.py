"""What an idle switch costs, and what its sleeping costs a ping. Figures are printed; only gross faults fail."""
import time

import lab


def idle_percent(switch, seconds=10):
    before = switch.cpu_seconds()
    time.sleep(seconds)
    return 100 * (switch.cpu_seconds() - before) / seconds


def ping_us(idle):
    with lab.contextlib.ExitStack() as stack:
        switch, a, _ = lab.two_taps(stack, workers={"idle": idle})
        lab.connect(switch)
        lab.ping(a, "203.0.113.2")
        percent = idle_percent(switch) if idle == "adaptive" else None
        return lab.ping(a, "203.0.113.2", count=200, interval=0.02), percent


def percent_without_its_device():
    """As when a pod goes and takes its end of a port along."""
    with lab.Switch([lab.tap(1), lab.tap(2)]) as switch:
        lab.sh("ip", "link", "delete", lab.tap(1)["tap"]["interface"])
        time.sleep(1)
        return idle_percent(switch, 4)


def test(_):
    adaptive, percent = ping_us("adaptive")
    poll, _ = ping_us("poll")
    print("idle with two TAP ports: %.1f %% of a core" % percent)
    print("ping: %.0f us adaptive, %.0f us polling, %+.0f us" % (adaptive, poll, adaptive - poll))
    alone = percent_without_its_device()
    print("idle after a port's interface was deleted: %.1f %%" % alone)
    assert alone < 10, "it spins on a device that is gone"
    assert percent < 30, "it does not sleep"
    assert adaptive - poll < 5000, "it oversleeps"


lab.main(test)
