"""`python -m rl_insight.cli`: how a detached server is started, whatever is on the PATH."""

from rl_insight.cli import main

main()
