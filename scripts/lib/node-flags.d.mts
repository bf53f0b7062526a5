/** How each process of the product is started. */
export const nodeFlags: readonly string[];
