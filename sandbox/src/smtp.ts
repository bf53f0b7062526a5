/** The SMTP relay of the sandbox: it accepts and stores emails, and delivers none. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { type Harness, judgeCredential } from './wire.ts';

const MAX_MESSAGE_BYTES = 1024 * 1024;

const refusal = (responseCode: number, message: string): Error =>
  Object.assign(new Error(message), { responseCode });

interface SmtpRelay {
  /** Rejects if the port is in use. 0 takes a free one. */
  listen(where: { host: string; port: number }): Promise<number>;
  close(): Promise<void>;
}

/**
 * Behaves like a real relay: it requires a login (530), and refuses a wrong one (535) and unknown recipients (550).
 * It offers no TLS, because it has no certificate that a client could trust.
 */
export const createSmtpRelay = ({ state, slowMs }: Harness): SmtpRelay => {
  const slowTimers = new Set<NodeJS.Timeout>();
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    disableReverseLookup: true,
    size: MAX_MESSAGE_BYTES,
    logger: false,
    closeTimeout: 500,
    onAuth: ({ username, password }, _session, done) => {
      const isGood = [username, password].every((value) => judgeCredential(value) === 'good');
      if (isGood) done(null, { user: username });
      else done(refusal(535, 'Authentication credentials invalid'));
    },
    onRcptTo: ({ address }, _session, done) => {
      const mode = state.emailModes.of(address.toLowerCase());
      if (mode === 'refuse') done(refusal(550, 'No such user here'));
      // Real relays repeat the address in the error.
      else if (mode === 'busy') done(refusal(451, `<${address}> Try again later`));
      else if (mode === 'slow') {
        const timer = setTimeout(() => {
          slowTimers.delete(timer);
          done();
        }, slowMs);
        slowTimers.add(timer);
      } else done();
    },
    onData: (stream, session, done) => {
      simpleParser(stream).then((mail) => {
        for (const { address } of session.envelope.rcptTo) {
          state.recordEmail({
            to: address.toLowerCase(),
            from: mail.from?.text ?? '',
            subject: mail.subject ?? '',
            text: mail.text ?? '',
            html: typeof mail.html === 'string' ? mail.html : '',
            message_id: mail.messageId ?? '',
          });
        }
        const isAnswered = session.envelope.rcptTo.every(
          ({ address }) => state.emailModes.of(address.toLowerCase()) !== 'unanswered',
        );
        if (isAnswered) done();
      }, done);
    },
  });
  // Errors of single connections, such as a client that disconnects.
  server.on('error', () => undefined);
  return {
    listen: async ({ host, port }) => {
      server.listen(port, host);
      await once(server.server, 'listening');
      return (server.server.address() as AddressInfo).port;
    },
    close: async () => {
      for (const timer of slowTimers) clearTimeout(timer);
      await new Promise<void>((resolve) => server.close(resolve));
    },
  };
};
