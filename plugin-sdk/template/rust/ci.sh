#!/bin/sh
# What a job of your CI runs, wherever it runs: build, test, lint. A build that would break open
# runs does not pass: released/ has the modules that are in production, under the names they have
# in build/. Options go to make.
set -eu
cd "$(dirname "$0")"
make check "$@"
for module in build/*.so; do
  released=released/$(basename "$module")
  if [ -e "$released" ]; then
    pgflowctl lint "$module" --against "$released"
  else
    pgflowctl lint "$module"
  fi
done
# What the database needs, if somebody put it there: pgflowctl snapshot > released/needs.json
if [ -e released/needs.json ]; then
  pgflowctl preflight build/*.so --against released/needs.json
fi
