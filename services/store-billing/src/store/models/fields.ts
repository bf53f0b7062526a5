/** Fields of schemas. */
export const number = { type: Number, required: true };
export const text = { type: String, required: true };
export const date = { type: Date, required: true };
export const maybeDate = { type: Date, default: null };
export const maybeText = { type: String, default: null };
export const maybeNumber = { type: Number, default: null };
export const counter = { type: Number, default: 0 };
export const options = (collection: string) => ({ collection, versionKey: false as const });
