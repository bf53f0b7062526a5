#!/bin/sh
# Replaces the containers of docker-compose.yml by those of a new image that was pulled or built. It takes the options of
# docker compose, such as --env-file. `docker compose up` would replace all of them at once, and nothing would answer until the last one
# has started. Here a process loses its container when a second one is healthy. Only a gateway that owns a port of the machine
# (without deploy/compose.tls.yaml) is replaced as `up` does it.
set -eu
services='identity wallet gyms content media store-billing'
for job in credentials keys mongodb-users rabbitmq-definitions; do
  docker compose "$@" run --rm --no-deps -T "$job" </dev/null
done

# Lists are not quoted.
former=$(docker compose "$@" ps --quiet $services)
for name in $services; do
  docker compose "$@" up --detach --no-deps --no-recreate --wait --scale "$name=2" "$name"
done
# Within this time every process sends requests to the new ones, too (docs/adr/0104).
sleep 30
docker stop $former
docker rm $former

if docker compose "$@" config gateway | grep -q 'published:'; then
  docker compose "$@" up --detach --no-deps --wait gateway
else
  former=$(docker compose "$@" ps --quiet gateway)
  docker compose "$@" up --detach --no-deps --no-recreate --wait --scale gateway=2 gateway
  docker stop $former
  docker rm $former
fi
