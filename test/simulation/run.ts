// npm run simulate: histories of the service under faults, each determined by one number.
import { replaceSeams } from './seams.ts'

replaceSeams()
const { main } = await import('./command.ts')
await main(process.argv.slice(2))
