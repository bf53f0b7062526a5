/** The certificate of a process in the form of grpc-js, whose interface for renewals is experimental. */
import { type ChannelCredentials, credentials, experimental, ServerCredentials } from '@grpc/grpc-js';
import type { ProcessTls, TlsFiles } from '../process-identity/process-tls.ts';

type Update<Listener extends (update: never) => void> = (files: TlsFiles) => Parameters<Listener>[0];

const caOf: Update<experimental.CaCertificateUpdateListener> = ({ ca }) => ({ caCertificate: ca });
const identityOf: Update<experimental.IdentityCertificateUpdateListener> = ({ cert, key }) => ({
  certificate: cert,
  privateKey: key,
});

/** One provider per certificate: channels with the same provider share their connections. */
const providers = new WeakMap<ProcessTls, experimental.CertificateProvider>();

const providerOf = (tls: ProcessTls): experimental.CertificateProvider => {
  const existing = providers.get(tls);
  if (existing !== undefined) return existing;
  const stops = new Map<unknown, () => void>();
  const add = <Listener extends (update: never) => void>(
    listener: Listener,
    update: Update<Listener>,
  ): void => {
    const notify = (files: TlsFiles): void => listener(update(files) as never);
    stops.set(listener, tls.onRenewal(notify));
    // grpc-js expects no call before it has finished.
    process.nextTick(() => notify(tls.current()));
  };
  const remove = (listener: unknown): void => {
    stops.get(listener)?.();
    stops.delete(listener);
  };
  const provider: experimental.CertificateProvider = {
    addCaCertificateListener: (listener) => add(listener, caOf),
    removeCaCertificateListener: remove,
    addIdentityCertificateListener: (listener) => add(listener, identityOf),
    removeIdentityCertificateListener: remove,
  };
  providers.set(tls, provider);
  return provider;
};

export const channelCredentials = (tls: ProcessTls | undefined): ChannelCredentials => {
  if (tls === undefined) return credentials.createInsecure();
  const provider = providerOf(tls);
  return experimental.createCertificateProviderChannelCredentials(provider, provider);
};

export const serverCredentials = (tls: ProcessTls | undefined): ServerCredentials => {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const provider = providerOf(tls);
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
};
