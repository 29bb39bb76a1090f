/**
 * Every table, as both databases have it: text, bigint and integer columns only. Ids are text, times are
 * milliseconds since the epoch, money is in 1/10000 rubles, JSON and lists are text, booleans are 0 or 1.
 * The folder that owns a table declares its rows in tables.ts and adds them here (TypeScript's module augmentation).
 */
// biome-ignore lint/suspicious/noEmptyInterface: the folders fill it
export interface Schema {}
