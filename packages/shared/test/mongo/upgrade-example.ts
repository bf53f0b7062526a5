/** An example upgrade: prices stored as text become numbers. */
import type { Connection } from 'mongoose';
import type { Upgrade } from '../../src/mongo/upgrades.ts';

export interface Product {
  _id: number;
  price: string | number;
  /** How often an upgrade has changed it. */
  changes: number;
}

export const products = (connection: Connection) => connection.collection<Product>('products');

/** `onChange` gets the number of changes of this run after each one. */
export const pricesAreNumbers = (
  connection: Connection,
  onChange: (changed: number) => void = () => undefined,
): Upgrade => ({
  name: 'prices are numbers',
  run: async () => {
    let changed = 0;
    for await (const { _id, price } of products(connection).find({ price: { $type: 'string' } })) {
      // The old form is part of the condition, so that only one of several replicas changes it.
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
