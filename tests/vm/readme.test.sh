#!/bin/bash
# readme: runs the commands in section "On a laptop" of README.md exactly as they are written, and
# compares their output, on a machine with systemd on which the packages are installed. The commands
# can neither build nor fetch files: the checkout is read-only, and there is no network.
# Machine: systemd
# Timeout: 900
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/page.sh"

page_steps "${KWARP_PAGE:-$(realpath "$(dirname "$0")/../../README.md")}" 'On a laptop'
done_testing
