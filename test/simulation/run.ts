// npm run simulate runs histories of the service under faults, each determined by one number.
import { parseArgs } from 'node:util'
import { planted } from './planted.ts'
import { load } from './planting.ts'
import { replaceSeams } from './seams.ts'

const { values } = parseArgs({ options: { plant: { type: 'string' } }, strict: false })
const mistake = typeof values.plant === 'string' ? planted[Number(values.plant)] : undefined
if (mistake) load(mistake)
replaceSeams()
const { main } = await import('./command.ts')
await main(process.argv.slice(2))
