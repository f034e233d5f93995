#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Migrates a running virtual machine of Debian's QEMU over rdma: to another QEMU of this host and compares their memory.
#   migration.py SCRATCH_DIR PORT RUN_DIRECTORY COMMAND...    COMMAND: what programs are started with (mrcrun)
# With MRC_TEST_CUT set it is a command (mrcctl plane ...) that is run when a part of the memory has gone over; the migration is then
# slow enough to have most of it before it.
# The guest has no operating system: a few instructions that write to half a megabyte again and again. It is an x86 one on
# every host: QEMU 7.2's "virt" of ARM posts no WRITE at all for what the guest wrote last (its own trace shows it), and
# over TCP it does send that.
import filecmp
import json
import os
import shutil
import socket
import subprocess
import sys
import time

MEGABYTES = 64
PATIENCE_S = 60


def make_guest(path):
    """A boot sector in real mode: cx counts up and is written to all of 1 MiB - 64 KiB of memory below 0xA0000."""
    code = bytes([
        0xFA,                    # cli
        0x31, 0xC9,              # xor cx, cx
        # again:
        0x41,                    # inc cx
        0xBB, 0x00, 0x10,        # mov bx, 0x1000
        # segment:
        0x8E, 0xC3,              # mov es, bx
        0x31, 0xFF,              # xor di, di
        # word:
        0x26, 0x89, 0x0D,        # mov es:[di], cx
        0x83, 0xC7, 0x02,        # add di, 2
        0x75, 0xF8,              # jnz word
        0x81, 0xC3, 0x00, 0x10,  # add bx, 0x1000
        0x81, 0xFB, 0x00, 0x90,  # cmp bx, 0x9000
        0x72, 0xEB,              # jb segment
        0xEB, 0xE5,              # jmp again
    ])
    with open(path, "wb") as image:
        image.write(code.ljust(510, b"\0") + b"\x55\xAA" + bytes(1474560 - 512))
    return ["qemu-system-x86_64", "-machine", "pc", "-drive", f"if=floppy,format=raw,file={path}", "-boot", "a"]


class Machine:
    def __init__(self, name, scratch, command, words):
        self.control = os.path.join(scratch, f"{name}.qmp")
        self.log = open(os.path.join(scratch, f"{name}.log"), "wb")
        self.process = subprocess.Popen(
            command + words + ["-accel", "tcg", "-m", str(MEGABYTES), "-nodefaults", "-display", "none", "-S",
                               "-qmp", f"unix:{self.control},server=on,wait=off"],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        self.stream = None

    def connect(self):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(self.control)
                break
            except OSError:
                connection.close()
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"{self.control}: QEMU does not answer") from None
                time.sleep(0.05)
        connection.settimeout(PATIENCE_S)
        self.stream = connection.makefile("rw")
        json.loads(self.stream.readline())
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.stream.flush()
        while True:
            answer = json.loads(self.stream.readline())
            if "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def end(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


def await_listener(run_directory, port, machine):
    end = time.monotonic() + PATIENCE_S
    name = os.path.join(run_directory, f"cm.0106.{port}")
    while not os.path.exists(name):
        if machine.process.poll() is not None or time.monotonic() > end:
            raise RuntimeError("the destination does not listen")
        time.sleep(0.05)


def cut_when_under_way(state, cut):
    """True: a part has gone over, and the cut was made while the rest was to come."""
    ram = state.get("ram", {})
    if state.get("status") != "active" or ram.get("transferred", 0) < 1 << 20:
        return False
    subprocess.run(cut.split(), check=True)
    print(f"'{cut}' with {ram['transferred']} bytes gone and {ram['remaining']} to come")
    return True


def migrate(source, uri):
    cut = os.environ.get("MRC_TEST_CUT")
    source.ask("migrate-set-parameters", **{"downtime-limit": 2000, "max-bandwidth": 16 << 20 if cut else 1 << 34})
    source.ask("migrate", uri=uri)
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        state = source.ask("query-migrate")
        if cut and cut_when_under_way(state, cut):
            cut = None
            if source.ask("query-migrate")["status"] != "active":
                raise RuntimeError("it was too late to cut anything")
        if state.get("status") == "completed":
            if cut:
                raise RuntimeError("it had ended before anything was cut")
            return state
        if state.get("status") in ("failed", "cancelled"):
            raise RuntimeError(f"the migration {state['status']}: {state.get('error-desc', 'no reason given')}")
        time.sleep(0.005 if cut else 0.05)
    raise RuntimeError("the migration does not end")


def main():
    scratch, port, run_directory, command = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    words = make_guest(os.path.join(scratch, "guest.img"))
    if shutil.which(words[0]) is None:
        print(f"SKIPPED: there is no {words[0]}")
        return 77
    libraries = subprocess.run(["ldd", shutil.which(words[0])], capture_output=True, text=True, check=True).stdout
    if "librdmacm" not in libraries:
        print(f"SKIPPED: {words[0]} was built without rdma")
        return 77
    uri = f"rdma:127.0.0.1:{port}"
    source = Machine("source", scratch, command, words)
    destination = Machine("destination", scratch, command, words + ["-incoming", uri])
    try:
        source.connect()
        source.ask("cont")
        destination.connect()
        await_listener(run_directory, port, destination)
        time.sleep(1)  # the guest runs
        state = migrate(source, uri)
        images = []
        for machine in (source, destination):
            images.append(machine.control + ".memory")
            machine.ask("pmemsave", val=0, size=MEGABYTES << 20, filename=images[-1])
        with open(images[0], "rb") as image:
            written = image.read()[1 << 16:8 << 16]
        if not any(written):
            raise RuntimeError("the guest has written nothing")
        if not filecmp.cmp(*images, shallow=False):
            raise RuntimeError("the memory of the two differs")
        print(f"migrated {state['ram']['transferred']} bytes in {state['ram']['dirty-sync-count']} rounds; "
              f"all {MEGABYTES} MiB are alike")
    finally:
        source.end()
        destination.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
