import { hostname } from 'node:os'

/** What this process is called wherever operators may have to find it: in the audit, and by the database's tools. */
export const processName = `${hostname()} ${process.pid}`
