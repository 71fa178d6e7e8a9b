"""What everything else is built on: errors, files, git, the environment, options, types and units."""
