#!/bin/sh
# Replaces the containers of docker-compose.yml with those of a new image that was pulled or built. The script accepts options of
# docker compose, such as --env-file. `docker compose up` would replace all containers at once, and nothing would respond until the last one
# has started. This script removes a container only when a second one is healthy. The exception is a gateway that owns a port of the machine
# (without deploy/compose.tls.yaml), which is replaced as `up` does it. The script may be interrupted and repeated at any time.
set -eu
services='identity wallet gyms content media store-billing'

# Lists are deliberately not quoted. Functions get the options of docker compose.
undo() {
  trap '' HUP INT TERM
  # A lost connection must not end `docker rm` after its first line.
  new=$(docker compose "$@" ps --quiet $names | grep -vxF "$former") && docker rm --force $new >/dev/null
  echo "The former containers stay: $names. If one of them is not healthy, remove it (docker rm --force) and repeat." >&2
}

replace() {
  # Remove containers that a killed run has stopped. Otherwise `up` would restart them instead of creating new ones.
  docker compose "$@" rm --force $names
  former=$(docker compose "$@" ps --quiet $names)
  trap 'undo "$@"' EXIT
  for name in $names; do
    running=$(docker compose "$@" ps --quiet "$name" | wc -l)
    docker compose "$@" up --detach --no-deps --no-recreate --wait --scale "$name=$((running + 1))" "$name"
  done
  if [ -n "$former" ]; then
    sleep "$seconds"
    trap - EXIT
    docker stop $former
    docker rm $former
  fi
  trap - EXIT
}

trap 'exit 1' HUP INT TERM
for job in credentials keys mongodb-users rabbitmq-definitions; do
  docker compose "$@" run --rm --no-deps -T "$job" </dev/null
done

names=$services
# After this time every process also sends requests to the new containers (docs/adr/0104).
seconds=30
replace "$@"

if docker compose "$@" config gateway | grep -q 'published:'; then
  docker compose "$@" up --detach --no-deps --wait gateway
else
  names=gateway
  seconds=0
  replace "$@"
fi
