import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { parse, stringify } from 'yaml'
import { bootableIso } from '../../api/drivers/test-iso.ts'
import { Berth } from '../../sdk/index.ts'

const root = path.resolve(import.meta.dirname, '../..')
const TIMEOUT_MS = 900_000

/** The sample catalogue with one template, whose zone has public addresses. */
export function catalogOf(template: string): string {
  const catalog = parse(readFileSync(path.join(root, 'catalog.yaml'), 'utf8'))
  catalog.zones[0].public_ipv4 = ['203.0.113.0/28']
  catalog.templates = catalog.templates.filter(({ slug }: { slug: string }) => slug === template)
  return stringify(catalog)
}

/** Uploads an ISO called installer, and waits until it can be put into drives. */
export async function uploadIso(baseUrl: string, token: string): Promise<void> {
  const file = new Blob([new Uint8Array(bootableIso('An installer'))])
  const { isos, operations } = new Berth({ baseUrl, token })
  const order = { name: 'installer', zone_slug: 'local-1', upload: true, content_bytes: file.size }
  const { iso_id } = await isos.create(order)
  await isos.upload(iso_id, file)
  const { operation_id } = await isos.import(iso_id)
  await operations.wait({ operation_id: operation_id ?? '' })
}

/** Runs a program to its end; a failure says what it wrote. @returns all that it wrote */
export async function run(command: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const [program = '', ...args] = command
  const options = { env, timeout: TIMEOUT_MS, maxBuffer: 2 ** 24 }
  const { stdout, stderr } = await promisify(execFile)(program, args, options).catch((error) => {
    throw new Error(`${command.join(' ')}: ${error.message}\n${error.stdout}`)
  })
  return stdout + stderr
}

/**
 * Makes a token for these tools as a customer does.
 * @param home a folder in which the tools may keep things
 * @param through a command that runs the command line
 * @returns the environment of the two lines to copy
 */
export async function toolsEnv(
  { url, token, home }: { url: string; token: string; home: string },
  through: readonly string[] = [],
): Promise<NodeJS.ProcessEnv> {
  const { PATH } = process.env
  const env = { PATH, HOME: home }
  const berth = [...through, process.execPath, path.join(root, 'cli/main.ts'), 'token', 'create', 'tools']
  const said = await run([...berth, '--hcloud'], { ...env, BERTH_URL: url, BERTH_TOKEN: token })
  return {
    ...env,
    ...Object.fromEntries([...said.matchAll(/export (\w+)=(\S+)/g)].map((line) => line.slice(1))),
  }
}
