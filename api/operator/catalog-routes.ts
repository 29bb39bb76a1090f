import { hash } from 'node:crypto'
import Type, { type Static } from 'typebox'
import { differences } from '../catalog/changes.ts'
import type { Catalog } from '../catalog/file.ts'
import type { CatalogSource } from '../catalog/live.ts'
import { maskSecrets, unmask } from '../catalog/masking.ts'
import { sizeFault } from '../catalog/yaml.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { isoTime, timestamp } from '../http/contract/fields.ts'
import { type Route, route } from '../http/contract/route.ts'
import { payersOf } from '../servers/queries.ts'

const tag = 'Operator'

/** A catalogue with thousands of mistakes has the same one in each line. */
const MAX_LINES = 200

const Lines = (description: string, examples: string[][]) =>
  Type.Array(Type.String(), { description, examples })

const CatalogText = Type.Object(
  {
    text: Type.String({
      description:
        'The catalogue in force as YAML. User, password and query in addresses of images and comments are replaced by `***`',
      examples: ['zones:\n  - zone_slug: local-1\n'],
    }),
    hash: Type.String({
      description: 'The SHA-256 of `text`',
      examples: ['5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef'],
    }),
    in_force_since: timestamp('When the service accepted it', '2026-11-21T10:00:00.000Z'),
    errors: Lines('Why a later version of the file is refused; empty if the file itself is in force', [[]]),
  },
  { title: 'CatalogText', description: 'The text of the catalogue in force' },
)

const CatalogCheck = Type.Object(
  {
    text: Type.String({
      minLength: 1,
      maxLength: 100_000,
      description: 'A whole catalogue as YAML. Masked addresses that `GET` returned stand for those in force',
      examples: ['zones:\n  - zone_slug: local-1\n'],
    }),
  },
  { title: 'CatalogCheck', description: 'A catalogue to check' },
)

const CheckedCatalog = Type.Object(
  {
    is_valid: Type.Boolean({
      description: 'True if `errors` is empty; `unchecked_sources` may still have mistakes',
    }),
    errors: Lines(`The mistakes, with their lines where they have one; at most ${MAX_LINES}`, [[]]),
    differences: Lines(
      `The differences to the catalogue in force, as \`berthd catalog check\` prints them; at most ${MAX_LINES}. Prices have the number of servers and accounts that pay them`,
      [['preset nano: changed']],
    ),
    unchecked_sources: Lines(
      `The slugs of templates and ISOs whose source is not that in force; at most ${MAX_LINES}. Nothing looks for their files: run \`berthd catalog check\` on the host`,
      [[]],
    ),
  },
  {
    title: 'CheckedCatalog',
    description: 'The mistakes of a catalogue, and how it differs from the one in force',
  },
)

export interface OperatorCatalogOptions {
  db: Database
  clock: Clock
  catalog: Catalog
  catalogText?: CatalogSource
}

/** Shows and checks the catalogue. It is changed on the host alone, because it names files and addresses of the host. */
export function operatorCatalogRoutes(options: OperatorCatalogOptions): Route[] {
  return [
    route({
      id: 'getCatalog',
      method: 'GET',
      path: '/operator/catalog',
      scope: 'operator:read',
      tag,
      summary: 'Show the text of the catalogue in force',
      description:
        'Returns the last version of the file that the service accepted, without secrets, and the mistakes of a later one that it refuses. Each process reads its own file: the reply is that of the process that replies.',
      reply: { 200: CatalogText },
      hasEtag: true,
      run: async () => textInForce(options),
    }),
    route({
      id: 'checkCatalog',
      method: 'POST',
      path: '/operator/catalog/check',
      scope: 'operator:read',
      tag,
      summary: 'Check a catalogue, and compare it with the one in force',
      description:
        'Lists the mistakes and the differences; nothing changes. Files and addresses of images are looked for only if they are in force, so that a token does not find out which files the host has. A change is made in the file, on the host.',
      body: CatalogCheck,
      reply: { 200: CheckedCatalog },
      makesNothing: true,
      run: ({ body }) => checkCatalog(options, body.text),
    }),
  ]
}

function textInForce({ catalog, catalogText }: OperatorCatalogOptions): Static<typeof CatalogText> {
  const { text, since, faults } = sourceOf(catalogText).inForce
  const { paymentUrl, logoUrl, contact, terms } = catalog.operator
  const masked = maskSecrets(text, [paymentUrl, logoUrl, contact, terms?.url ?? null])
  return {
    text: masked,
    // A hash of the secrets would let its reader try guesses.
    hash: hash('sha256', masked),
    in_force_since: isoTime(since),
    errors: linesOf(faults),
  }
}

async function checkCatalog(
  { db, clock, catalog, catalogText }: OperatorCatalogOptions,
  text: string,
): Promise<Static<typeof CheckedCatalog>> {
  const tooLarge = sizeFault(text)
  if (tooLarge !== null)
    return { is_valid: false, errors: [tooLarge], differences: [], unchecked_sources: [] }
  const source = sourceOf(catalogText)
  const { parsed, faults, sources } = await source.check(unmask(text, source.inForce.text), clock.now())
  const changes = parsed ? differences(catalog, parsed, await payersOf(db).execute()) : []
  return {
    is_valid: faults.length === 0,
    ...{ errors: linesOf(faults), differences: linesOf(changes) },
    unchecked_sources: sources.slice(0, MAX_LINES),
  }
}

/** Messages may quote the catalogue, and with it an address that has a password. */
function linesOf(lines: readonly string[]): string[] {
  return lines.slice(0, MAX_LINES).map((line) => maskSecrets(line))
}

function sourceOf(source: CatalogSource | undefined): CatalogSource {
  if (!source) throw new Error('this process was started without the text of its catalogue')
  return source
}
