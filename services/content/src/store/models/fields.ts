/** Field types and settings that the schemas share. */
export const text = { type: String, required: true };
export const number = { type: Number, required: true };
export const flag = { type: Boolean, required: true };
export const date = { type: Date, required: true };
export const settings = (collection: string) => ({ collection, versionKey: false as const, minimize: false });
