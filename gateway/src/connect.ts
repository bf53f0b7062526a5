/** Connections to the services: encrypted and mutually authenticated where certificates are configured. */
import type { ProcessTls } from '@fitness/shared/kernel/process-tls.ts';
import { buildConnector } from 'undici';
import { SERVICES, type Service } from './routes.ts';

interface ConnectOptions {
  urls: Record<Service, string>;
  tls: ProcessTls | undefined;
  timeoutMs: number;
}

/** The certificate must name the service, whatever the address is. */
export const createConnect = ({ urls, tls, timeoutMs }: ConnectOptions): buildConnector.connector => {
  const connect = buildConnector({ timeout: timeoutMs, ...tls });
  const names = new Map(SERVICES.map((service) => [new URL(urls[service]).host, service]));
  return (options, callback) => {
    const servername = options.protocol === 'https:' ? names.get(options.host ?? '') : undefined;
    connect(servername === undefined ? options : { ...options, servername }, callback);
  };
};
