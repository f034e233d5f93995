# SPDX-License-Identifier: BSD-2-Clause
"""What tshark says of a capture with our dissector, compared with what our own decoder says of it."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DISSECTOR = os.path.join(HERE, '..', '..', 'examples', 'wireshark', 'mrc.lua')
ETHERNET = 1


def check(condition, what):
    if not condition:
        sys.exit(f'FAILED: {what}')


def write_capture(file, frames):
    with open(file, 'wb') as out:
        out.write(struct.pack('=IHHiIII', 0xA1B2C3D4, 2, 4, 0, 0, 65535, ETHERNET))
        for number, frame in enumerate(frames):
            out.write(struct.pack('=IIII', number, 0, len(frame), len(frame)) + frame)


def readable_dissector(folder):
    """A copy that everybody may read, wherever the source tree is."""
    os.chmod(folder, 0o755)
    return shutil.copy(DISSECTOR, folder)


def tshark(file, *words, dissector=True):
    """Its lines. Newer ones run no Lua for root, so root has an ordinary user do it."""
    root = os.geteuid() == 0
    user = {'user': 'nobody', 'group': 'nogroup', 'extra_groups': [], 'env': dict(os.environ, HOME='/nonexistent')}
    with tempfile.TemporaryDirectory() as folder, open(file, 'rb') as frames:
        script = ['-X', 'lua_script:' + readable_dissector(folder)] if dissector else []
        command = ['tshark', '-n', '-r', '-'] + script + list(words)
        done = subprocess.run(command, text=True, stdin=frames, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=250,
                              cwd='/', **(user if root else {}))
    said = [line for line in done.stderr.splitlines() if line]
    check(done.returncode == 0 and not said, f'{" ".join(command)}: status {done.returncode}, expected 0 and silence: {said}')
    return done.stdout.splitlines()


def frames_with(file, what, dissector=True):
    """The numbers of the frames that a display filter finds."""
    return [int(line) for line in tshark(file, '-Y', what, '-T', 'fields', '-e', 'frame.number', dissector=dissector)]


def number_of(text):
    return {'True': 1, 'False': 0}[text] if text in ('True', 'False') else int(text, 0)


def our_words(program, file):
    """A dictionary per frame, or None for one that is not MRC's."""
    done = subprocess.run([program, file], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    check(done.returncode == 0, f'{program}: status {done.returncode}, expected 0: {done.stderr}')
    frames = []
    for line in done.stdout.splitlines():
        is_mrc = line.startswith('mrc.')
        frames.append({key: int(value) for key, value in (word.split('=') for word in line.split())} if is_mrc else None)
    return frames


def rows_of(file, *names):
    """The values of these fields in each frame; of a header inside another the first counts."""
    options = [word for name in names for word in ('-e', name)]
    return [line.split('|') for line in tshark(file, '-T', 'fields', '-E', 'separator=|', '-E', 'occurrence=f', *options)]


def notes_in(file, *notes):
    """The numbers of the frames with each of these expert notes."""
    found = {note: [] for note in notes}
    for number, row in enumerate(rows_of(file, *('mrc.expert.' + note for note in notes)), 1):
        for note, value in zip(notes, row):
            if value:
                found[note].append(number)
    return found


# What a packet must not have.
WRONG = ('_ws.malformed', 'mrc.expert.short', 'mrc.expert.opcode')


def compare(program, file):
    """Every MRC packet is decoded, none is malformed, and every field is what our decoder says. Gives our words."""
    ours = our_words(program, file)
    names = sorted({name for frame in ours if frame for name in frame} - {'payload_bytes'})
    rows = rows_of(file, 'mrc.payload', 'udp.length.bad', *WRONG, *names)
    check(len(ours) == len(rows), f'{len(rows)} frames by tshark, expected {len(ours)}')
    for number, (own, row) in enumerate(zip(ours, rows), 1):
        payload, bad_length, *wrong = row[:2 + len(WRONG)]
        other = {name: number_of(value) for name, value in zip(names, row[2 + len(WRONG):]) if value}
        if payload:
            other['payload_bytes'] = len(payload.replace(':', '')) // 2
        expected = own or {}
        different = {name: (other.get(name), expected.get(name)) for name in {*expected, *other}
                     if other.get(name) != expected.get(name)}
        check(not different, f'{file}: frame {number}: (tshark, decoder): {different}')
        # Wireshark itself marks UDP whose length is that of before a switch trimmed the packet.
        if own and not (own['mrc.trimmed'] and bad_length):
            check(not any(wrong), f'{file}: frame {number} is malformed: {dict(zip(WRONG, wrong))}')
    return ours
