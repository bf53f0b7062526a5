/** The images of docker-compose.yml, without their digests. */
export const images = { mongodb: 'mongo:8.3.9', redis: 'redis:8.10.1', rabbitmq: 'rabbitmq:4.3.2' };
