#!/bin/sh
# A secret may come as a file (Docker and Kubernetes secrets, or the volume of docker-compose.yml), so that it
# stands in no configuration that can be listed.
set -eu
for name in INTERNAL_AUTH_SECRET KAVENEGAR_API_KEY ZIBAL_MERCHANT CAFEBAZAAR_API_SECRET MYKET_ACCESS_TOKEN \
  MEDIA_S3_SECRET_ACCESS_KEY; do
  file=$(printenv "${name}_FILE" || true)
  if [ -n "$file" ] && [ -z "$(printenv "$name" || true)" ]; then
    export "$name=$(cat "$file")"
  fi
done
exec "$@"
