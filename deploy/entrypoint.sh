#!/bin/sh
# Reads NAME from the file that NAME_FILE names (Docker and Kubernetes secrets, the volume of docker-compose.yml), so that
# no configuration that can be listed contains a secret. A value of NAME itself has priority.
set -eu
for name in $(printenv | sed -n 's/^\([A-Z][A-Z0-9_]*\)_FILE=..*/\1/p'); do
  if [ -z "$(printenv "$name" || true)" ]; then
    # A separate assignment: `export` would hide that a file cannot be read.
    value=$(cat "$(printenv "${name}_FILE")")
    export "$name=$value"
  fi
done
exec "$@"
