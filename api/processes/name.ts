import { hostname } from 'node:os'

/** The name of this process for operators: in the audit log, and in the database's tools. */
export const processName = `${hostname()} ${process.pid}`
