/** An upgrade as a service would write it: prices were stored as text, and are numbers now. */
import type { Connection } from 'mongoose';
import type { Upgrade } from '../../src/mongo/upgrades.ts';

export interface Product {
  _id: number;
  price: string | number;
  /** How often the upgrade has changed it. */
  changes: number;
}

export const products = (connection: Connection) => connection.collection<Product>('products');

/** `onChange` hears after each change how many this run has made. */
export const pricesAreNumbers = (
  connection: Connection,
  onChange: (changed: number) => void = () => undefined,
): Upgrade => ({
  name: 'prices are numbers',
  run: async () => {
    let changed = 0;
    for await (const { _id, price } of products(connection).find({ price: { $type: 'string' } })) {
      // Its old form is part of the condition: of several replicas one changes it.
      const { modifiedCount } = await products(connection).updateOne(
        { _id, price },
        { $set: { price: Number(price) }, $inc: { changes: 1 } },
      );
      changed += modifiedCount;
      onChange(changed);
    }
    return changed;
  },
});
