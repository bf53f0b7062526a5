/** Field types and settings that the schemas share. */
import type { TextDocument } from '@fitness/shared/lists/texts.ts';
import { Schema } from 'mongoose';

export const text = { type: String, required: true };
export const number = { type: Number, required: true };
export const flag = { type: Boolean, required: true };
export const date = { type: Date, required: true };
export const settings = (collection: string) => ({ collection, versionKey: false as const, minimize: false });

export const textSchema = (collection: string) =>
  new Schema<TextDocument>({ row: number, grams: { type: [String], required: true } }, settings(collection))
    .index({ grams: 1, row: -1 })
    .index({ row: 1 });
