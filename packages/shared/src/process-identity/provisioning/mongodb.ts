/**
 * The users of MongoDB: each service has a database, and an append-only one with the seals of its audit log.
 * No user of a process can create users or roles.
 */
import { auditSealsDatabase } from '../../audit/models.ts';
import { AUDIT_RESULTS } from '../../audit/results.ts';
import type { Connection } from '../../mongo/connect.ts';
import { refusalOf } from '../../mongo/refusal.ts';
import { AUDIT_SEQUENCES } from '../../mongo/sequence.ts';
import { OPERATOR, PROCESSES } from './processes.ts';

interface RoleOf {
  role: string;
  db: string;
}

interface User {
  /** The database of the user, `authSource` of its address. */
  db: string;
  name: string;
  roles: readonly RoleOf[];
}

/** The database of the ledger and, by default, that of its seals. */
const LEDGER = 'fitness_wallet';
const SEALS = 'fitness_wallet_seals';
const APPEND_ONLY = 'appendOnly';
const AUDIT = 'audit';
const LEDGER_AUDIT = 'ledgerAudit';

interface Privilege {
  resource: { db: string; collection: string };
  actions: readonly string[];
}

interface Role {
  db: string;
  name: string;
  privileges: readonly Privilege[];
}

const DATABASES = PROCESSES.flatMap(({ database }) => (database === undefined ? [] : [database]));

/** `seals`: the database of the wallet's seals. */
export const mongodbRoles = (seals = SEALS): Role[] => [
  ...[seals, ...DATABASES.map(auditSealsDatabase)].map((db) => ({
    db,
    name: APPEND_ONLY,
    // Neither `update` nor `remove`: a seal stays as it was written.
    privileges: [{ resource: { db, collection: '' }, actions: ['find', 'insert', 'createCollection'] }],
  })),
  {
    db: LEDGER,
    name: LEDGER_AUDIT,
    // Not the keys of the values in the audit log.
    privileges: ['wallets', 'payments', 'ledger_entries'].map((collection) => ({
      resource: { db: LEDGER, collection },
      actions: ['find'],
    })),
  },
  // Checks an audit log and records the result, adds what an operator's command does, and counts what waits to be published.
  ...DATABASES.map((db) => ({
    db,
    name: AUDIT,
    privileges: [
      { resource: { db, collection: 'audit_entries' }, actions: ['find', 'insert'] },
      // The next number of an entry.
      { resource: { db, collection: AUDIT_SEQUENCES }, actions: ['find', 'insert', 'update'] },
      { resource: { db, collection: AUDIT_RESULTS }, actions: ['find', 'insert', 'update'] },
      { resource: { db, collection: 'outbox' }, actions: ['find'] },
    ],
  })),
];

export const mongodbUsers = (seals = SEALS): User[] => [
  ...PROCESSES.flatMap(({ name, database: db }) => {
    if (db === undefined) return [];
    const ofSeals = db === LEDGER ? [auditSealsDatabase(db), seals] : [auditSealsDatabase(db)];
    return [
      {
        db,
        name,
        roles: [
          // The role allows indexes, too. A user can end its own sessions without a privilege (ADR 45).
          { role: 'readWrite', db },
          ...ofSeals.map((database) => ({ role: APPEND_ONLY, db: database })),
        ],
      },
    ];
  }),
  {
    db: 'admin',
    name: OPERATOR,
    roles: [
      { role: LEDGER_AUDIT, db: LEDGER },
      ...[seals, ...DATABASES.map(auditSealsDatabase)].map((db) => ({ role: 'read', db })),
      ...DATABASES.map((db) => ({ role: AUDIT, db })),
    ],
  },
];

/** `createCollection` is `CREATE_COLLECTION` there. */
const inAtlas = (action: string): string => action.replace(/[A-Z]/g, '_$&').toUpperCase();

/**
 * The same users for Atlas, where only its API creates them. They are in the database `admin` and have one custom role each: a
 * user who has one may have no other. These are the bodies of its requests, which have a password where `passwords` has one.
 */
export const atlasUsers = (seals = SEALS, passwords: ReadonlyMap<string, string> = new Map()) => {
  const custom = mongodbRoles(seals);
  const withRoles = mongodbUsers(seals).map(({ name, roles }) => {
    const roleName = `fitness-${name}`;
    const privileges = custom
      .filter((role) => roles.some((granted) => granted.role === role.name && granted.db === role.db))
      .flatMap((role) => role.privileges);
    const actions = [...new Set(privileges.flatMap((privilege) => privilege.actions))].map((action) => ({
      action: inAtlas(action),
      resources: privileges
        .filter((privilege) => privilege.actions.includes(action))
        .map(({ resource }) => resource),
    }));
    const inheritedRoles = roles.filter(
      ({ role, db }) => !custom.some((own) => own.name === role && own.db === db),
    );
    return {
      role: { roleName, actions, inheritedRoles },
      user: {
        databaseName: 'admin',
        username: name,
        password: passwords.get(name),
        roles: [{ databaseName: 'admin', roleName }],
      },
    };
  });
  return { roles: withRoles.map(({ role }) => role), users: withRoles.map(({ user }) => user) };
};

const ROLE_EXISTS = 51_002;
const USER_EXISTS = 51_003;

const refused = (command: string, code: number): string =>
  `the database refuses ${command} (code ${code}): in Atlas the users are made by its API (docs/guides/operators/servers.md), elsewhere MONGODB_URI needs a user with the role userAdminAnyDatabase`;

interface CreateOptions {
  /** User → password. */
  passwords: ReadonlyMap<string, string>;
  seals?: string | undefined;
}

/** Creates or updates the roles and users. `connection`: the connection of an administrator. */
export const createMongodbUsers = async (
  connection: Connection,
  { passwords, seals = SEALS }: CreateOptions,
): Promise<void> => {
  const client = connection.getClient();
  const createOrUpdate = async (
    db: string,
    what: 'Role' | 'User',
    name: string,
    fields: Record<string, unknown>,
  ): Promise<void> => {
    try {
      await client.db(db).command({ [`create${what}`]: name, ...fields });
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== undefined) throw new Error(refused(`create${what}`, refusal), { cause: error });
      const { code } = error as { code?: unknown };
      if (code !== (what === 'Role' ? ROLE_EXISTS : USER_EXISTS)) throw error;
      await client.db(db).command({ [`update${what}`]: name, ...fields });
    }
  };
  for (const { db, name, privileges } of mongodbRoles(seals))
    await createOrUpdate(db, 'Role', name, { privileges, roles: [] });
  for (const { db, name, roles } of mongodbUsers(seals)) {
    const pwd = passwords.get(name);
    if (pwd === undefined) throw new Error(`${name} has no password`);
    await createOrUpdate(db, 'User', name, { pwd, roles, mechanisms: ['SCRAM-SHA-256'] });
  }
};
