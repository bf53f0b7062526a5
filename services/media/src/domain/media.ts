/** Rows of uploaded files, as every room speaks of them. */

export interface MediaRow {
  _id: number;
  attachable_type: string;
  attachable_id: number;
  /** null: public with its target. Else a private document. */
  purpose: string | null;
  filename: string;
  mime_type: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the content, hex. */
  sha256: string;
  storage_key: string;
  /** null once that account is erased. */
  uploaded_by: number | null;
  created_at: Date;
}

export interface Target {
  attachable_type: string;
  attachable_id: number;
}

/** A target as one value. */
export const targetKey = ({ attachable_type, attachable_id }: Target): string =>
  `${attachable_type}:${attachable_id}`;

/** Bytes that have arrived whole, before a row speaks of them. */
export interface StoredFile {
  /** Chosen by the storage, never made of anything that a client sent. */
  key: string;
  /** Bytes. */
  size: number;
  /** SHA-256, hex. */
  sha256: string;
}

/** The `code` of an error that says that a file is not there. */
export const FILE_MISSING = 'ENOENT';
