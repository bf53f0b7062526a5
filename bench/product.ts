/** The running product: its databases, its services over gRPC, and a database beside them. */
import { randomUUID } from 'node:crypto';
import { createGrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import type { ProcessName } from '@fitness/shared/kernel/process-name.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { openCallerSigner } from '@fitness/shared/process-identity/open-caller-signer.ts';
import { connectStack } from '../scripts/lib/stack-client.mjs';

export const product = connectStack();
const { MONGODB_URI: uri } = product.describe().servers;
export const log = createLog({ service: 'bench', level: 'warn' });

/** A client of `target` in the name of `caller`. */
export const grpcClient = <Definition extends Parameters<typeof createGrpcClient>[0]['definition']>(
  definition: Definition,
  caller: ProcessName,
  target: ProcessName,
) => {
  const address = `127.0.0.1:${product.part(target).grpcPort}`;
  const signer = openCallerSigner(caller, product.part(caller).environment as never, log);
  return createGrpcClient({ definition, address, target, signer, deadlineMs: 30_000 });
};

/** Books in the name of the processes that may: store-billing debits a wallet, content sells. */
export const openWallet = () => {
  const [content, storeBilling] = (['content', 'store-billing'] as const).map((from) =>
    grpcClient(grpcDefinitions.wallet(), from, 'wallet'),
  );
  return {
    debit: (user_id: number, amount: number) => {
      const bookings = [{ user_id, type: 'purchase', amount }];
      return storeBilling?.call('Book', { idempotency_key: randomUUID(), bookings });
    },
    /** The income of a sale; the buyer must have the amount. */
    credit: (user_id: number, buyer: number, amount: number) => {
      const bookings = [
        { user_id: buyer, type: 'purchase', amount },
        { user_id, type: 'income', amount },
      ];
      return content?.call('Book', { idempotency_key: randomUUID(), bookings });
    },
  };
};

/** Sets a balance without a payment, so the audit of this data is meaningless. */
export const setBalance = (database: Database, userId: number, balance: number) =>
  database
    .collection<{ _id: number }>('wallets')
    .updateOne({ _id: userId }, { $set: { balance, version: 0, erased_at: null } }, { upsert: true });

export type Database = Awaited<ReturnType<typeof connectMongo>>;

/** The database of a service. */
export const openDatabase = (service: string): Promise<Database> =>
  connectMongo({ uri, database: product.part(service).environment.MONGODB_DATABASE ?? '' });

/** An empty database of a peer, which uses the driver of the services without their code. */
export const openPeerDatabase = async (name: string): Promise<Database> => {
  const connection = await connectMongo({ uri, database: name, maxPoolSize: 50 });
  await connection.dropDatabase();
  return connection;
};
