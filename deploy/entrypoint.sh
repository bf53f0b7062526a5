#!/bin/sh
# Reads NAME from the file that NAME_FILE names (Docker and Kubernetes secrets, the volume of docker-compose.yml). No
# configuration that can be listed then contains a secret. A value of NAME itself takes priority.
set -eu
for name in $(printenv | sed -n 's/^\([A-Z][A-Z0-9_]*\)_FILE=..*/\1/p'); do
  if [ -z "$(printenv "$name" || true)" ]; then
    # The assignment is separate, because `export` would hide a failure to read the file.
    value=$(cat "$(printenv "${name}_FILE")")
    export "$name=$value"
  fi
done
exec "$@"
