#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""look.py PAGE PICTURE: opens a report in Debian's Chromium, without a screen, and asks the browser itself whether it looks
right: no text beyond its plot or over another one, nothing wider than the window, nothing loaded from elsewhere. The
picture of the whole page stays behind for people. Status 77: there is no Chromium."""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
WIDTH = 1000
PATIENCE_S = 200

# Runs in the page. What it finds is left in an attribute, where --dump-dom shows it.
QUESTIONS = """
const problems = [];
const say = (what, where) => problems.push(what + ': ' + where);
const near = 1.5;  // letters may touch
for (const svg of document.querySelectorAll('svg')) {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
  texts.forEach(([words, box], i) => {
    if (box.left < frame.left - near || box.right > frame.right + near ||
        box.top < frame.top - near || box.bottom > frame.bottom + near) say('beyond its plot', words);
    for (const [others, other] of texts.slice(i + 1))
      if (box.left < other.right - near && other.left < box.right - near &&
          box.top < other.bottom - near && other.top < box.bottom - near) say('over each other', words + ' | ' + others);
  });
  for (const line of svg.querySelectorAll('polyline'))
    if (/nan|inf/i.test(line.getAttribute('points'))) say('no numbers', line.outerHTML.slice(0, 200));
}
if (document.documentElement.scrollWidth > window.innerWidth) say('too wide', document.documentElement.scrollWidth);
for (const entry of performance.getEntriesByType('resource')) say('loaded from elsewhere', entry.name);
document.documentElement.dataset.seen = JSON.stringify({
  problems, plots: document.querySelectorAll('svg').length, curves: document.querySelectorAll('svg polyline').length,
  rows: document.querySelectorAll('details tr').length, sections: document.querySelectorAll('h2[id]').length,
  height: document.documentElement.scrollHeight});
"""


def skip(why):
    print(f'skipped: {why}')
    sys.exit(SKIP)


def browse(scratch, page, *words):
    """What Chromium says on standard output."""
    environment = {**os.environ, 'HOME': scratch, 'XDG_CONFIG_HOME': scratch, 'XDG_CACHE_HOME': scratch}
    command = ['chromium', '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
               '--disable-background-networking', f'--user-data-dir={scratch}/profile', *words, f'file://{page}']
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    if done.returncode != 0:
        sys.exit(f'FAILED: chromium ends with {done.returncode}: {done.stderr[-2000:]}')
    return done.stdout


def look(page, picture):
    """What the browser counts in the page; ends the test if something looks wrong."""
    if shutil.which('chromium') is None:
        skip('there is no chromium')
    with open(page, encoding='utf-8') as file:
        text = file.read()
    with tempfile.TemporaryDirectory(prefix='mrc-page-', ignore_cleanup_errors=True) as scratch:
        asking = os.path.join(scratch, 'asking.html')
        with open(asking, 'w', encoding='utf-8') as file:
            file.write(text.replace('</body>', f'<script>{QUESTIONS}</script></body>'))
        shown = browse(scratch, asking, f'--window-size={WIDTH},1000', '--dump-dom')
        found = re.search(r'<html[^>]* data-seen="([^"]*)"', shown)
        if found is None:
            sys.exit(f'FAILED: the browser did not answer: {shown[:500]}')
        seen = json.loads(html.unescape(found.group(1)))
        os.makedirs(os.path.dirname(os.path.abspath(picture)), exist_ok=True)
        browse(scratch, os.path.abspath(page), f'--window-size={WIDTH},{seen["height"]}', f'--screenshot={picture}')
    with open(picture, 'rb') as file:
        if file.read(8) != b'\x89PNG\r\n\x1a\n':
            sys.exit(f'FAILED: {picture} is no picture')
    if seen['problems']:
        sys.exit('FAILED: the page looks wrong:\n' + '\n'.join(seen['problems']))
    return seen


def main(page, picture):
    seen = look(page, picture)
    print(seen)
    for what in ('plots', 'curves', 'rows', 'sections'):
        if seen[what] == 0:
            sys.exit(f'FAILED: {page} has no {what}')
    print(f'passed; {picture}')


if __name__ == '__main__':
    main(*sys.argv[1:])
