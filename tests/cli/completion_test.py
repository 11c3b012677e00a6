"""Completion of sluicectl: every command and option that help shows is offered, and bash, zsh and fish offer it at a real terminal."""
import contextlib
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import lab  # noqa: E402

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             "bind 'set bell-style none'; show() { printf '<%s>\\n' \"$@\"; echo end-of-show; }; source <(sluicectl completion bash)"),
    "zsh": (["zsh", "-f", "-i"],
            "bindkey -e; unsetopt beep; autoload -Uz compinit; compinit -u; show() { printf '<%s>\\n' \"$@\"; echo end-of-show }; source <(sluicectl completion zsh)"),
    "fish": (["fish", "--no-config", "-i"],
             "function fish_prompt; echo '$ '; end; function show; printf '<%s>\\n' $argv; echo end-of-show; end; sluicectl completion fish | source"),
}


ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9]|[=>])")


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, shell, folder, address):
        command, setup = SHELLS[shell]
        environment = {"PATH": os.path.dirname(lab.SLUICECTL) + ":/usr/bin:/bin", "HOME": folder, "TERM": "xterm", "LANG": "C.UTF-8", "PS1": "$ "}
        if address:
            environment["SLUICE_ADDRESS"] = address
        self.child, self.fd = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        self.output = ""
        self.type(setup + "; echo set''up\r")
        self.read_until("setup\r\n", 60)

    def type(self, text):
        os.write(self.fd, text.encode())

    def read_until(self, text, seconds):
        end = time.monotonic() + seconds
        while text not in self.output:
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError("no %r in\n%s" % (text, self.output))
            self.output += os.read(self.fd, 65536).decode(errors="replace")
        before, self.output = self.output.split(text, 1)
        return before

    def complete(self, line):
        """The words that the line has after a TAB at its end."""
        self.type(line + "\t\x01show \r")
        return re.findall(r"^<(.*)>$", ESCAPES.sub("", self.read_until("end-of-show\r\n", 30)).replace("\r", "\n"), re.M)

    def close(self):
        os.close(self.fd)  # hangs up
        os.waitpid(self.child, 0)


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.switch = cls.stack.enter_context(lab.Switch([{"name": "uplink", "number": 7, "ring": {}}, {"name": "pod", "number": 3, "null": {}}]))
        cls.address = "unix://" + cls.switch.socket
        cls.switch.ctl("flow", "add", "priority=5,tcp,actions=output:3")
        cls.folder = cls.stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-shell-"))
        open(os.path.join(cls.folder, "rules.flows"), "w").close()
        os.mkdir(os.path.join(cls.folder, "results"))

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    def offered(self, *words, address=None):
        environment = {**os.environ, "SLUICE_ADDRESS": address or self.address}
        lines = subprocess.run([lab.SLUICECTL, "__complete", *words], env=environment, check=True, timeout=30, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        return lines[0], dict(line.split("\t", 1) for line in lines[1:])

    def test_all_that_help_shows(self):
        commands = 0
        todo = [()]
        while todo:
            path = todo.pop()
            text = lab.sh(lab.SLUICECTL, *path, "--help")
            subcommands = re.findall(r"^  (\S+)", text.partition("Subcommands:\n")[2].partition("\n\n")[0], re.M)
            options = set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", text.partition("Options:\n")[2].partition("\n\n")[0], re.M))
            self.assertTrue(options, path)
            commands += len(subcommands)
            if subcommands:
                kind, words = self.offered(*path, "")
                self.assertEqual((kind, list(words)), ("words", subcommands))
                self.assertTrue(all(words.values()), "commands without a word of help: %s" % words)
            self.assertEqual(options - set(self.offered(*path, "--")[1]), set(), path)
            todo += [path + (subcommand,) for subcommand in subcommands]
        self.assertGreater(commands, 20)

    def test_values(self):
        for words, expected in (
                (("port", "delete", ""), {"uplink": "port 7", "pod": "port 3"}),
                (("port", "enable", "u"), {"uplink": "port 7"}),
                (("port", "enable", "uplink", ""), {}),
                (("flow", "get", ""), {"1": "priority=5,tcp actions=output:3"}),
                (("-o", ""), {"table": "", "wide": "", "json": ""}),
                (("--output=w",), {"--output=wide": ""}),
                (("port", "list", "-o", "j"), {"json": ""}),
                (("completion", ""), {"bash": "", "zsh": "", "fish": ""}),
                (("settings", "set", "pr"), {"pruning=true": "", "pruning=false": ""}),
                (("settings", "set", "pruning=true", "resort"), {"resort_seconds=": ""}),
                (("replay", "--set", "equal"), {"equal_priority=oldest": "", "equal_priority=any": ""}),
                (("port", "add", ""), {}),
                (("port", "add", "x", "--mtu", ""), {}),
                (("nonsense", ""), {})):
            self.assertEqual(self.offered(*words), ("words", expected), words)
        self.assertIn("lo", self.offered("port", "add", "x", "--interface", "")[1])
        self.assertEqual(self.offered("flow", "add-file", "")[0], "files")
        self.assertEqual(self.offered("replay", "--flows", "x", "--out-dir", "")[0], "folders")

    def test_options_are_offered_once_unless_they_may_be_given_again(self):
        offered = self.offered("replay", "--flows", "x", "--in", "1=y", "--")[1]
        self.assertNotIn("--flows", offered)
        self.assertIn("--in", offered)
        self.assertIn("--address", offered)

    def test_the_switch_that_the_line_names_is_asked(self):
        nowhere = self.address + "-not"
        self.assertEqual(self.offered("port", "delete", "", address=nowhere), ("words", {}))
        self.assertIn("pod", self.offered("--address", self.address, "port", "delete", "", address=nowhere)[1])
        self.assertIn("pod", self.offered("port", "delete", "--address=" + self.address, "", address=nowhere)[1])

    def test_shells(self):
        for shell in shells:
            with self.subTest(shell), contextlib.closing(Terminal(shell, self.folder, self.address)) as terminal:
                for line, words in (("po", ["port"]),
                                    ("port del", ["port", "delete"]),
                                    ("port delete upl", ["port", "delete", "uplink"]),
                                    ("flow get ", ["flow", "get", "1"]),
                                    ("--output js", ["--output", "json"]),
                                    ("--output=js", ["--output=json"]),
                                    ("settings set pruning=f", ["settings", "set", "pruning=false"]),
                                    ("flow list --he", ["flow", "list", "--help"]),
                                    ("flow add-file ru", ["flow", "add-file", "rules.flows"]),
                                    ("replay --out-dir re", ["replay", "--out-dir", "results"])):
                    # zsh takes the slash behind a folder away again as the next key is pressed.
                    got = [word.rstrip("/") for word in terminal.complete("sluicectl " + line)]
                    self.assertEqual(got, ["sluicectl", *words], shell)

    def test_shells_with_an_address_on_the_line(self):
        for shell in shells:
            with self.subTest(shell), contextlib.closing(Terminal(shell, self.folder, None)) as terminal:
                self.assertEqual(terminal.complete("sluicectl --address %s port enable po" % self.address), ["sluicectl", "--address", self.address, "port", "enable", "pod"])


shells = [shell for shell in SHELLS if shutil.which(shell)]
if not shells:
    print("skipped: neither " + " nor ".join(SHELLS))
    sys.exit(lab.SKIPPED)
print("shells: " + ", ".join(shells))
unittest.main(verbosity=2)
