import Type, { type Static } from 'typebox'
import { differences } from '../catalog/changes.ts'
import { unmask } from '../catalog/masking.ts'
import { sizeFault } from '../catalog/yaml.ts'
import { isoTime, timestamp } from '../http/contract/fields.ts'
import { type Route, route } from '../http/contract/route.ts'
import { payersOf } from '../servers/queries.ts'
import {
  linesOf,
  MAX_LINES,
  type OperatorCatalogOptions,
  replaceCatalogText,
  shownText,
  sourceOf,
} from './catalog-replacement.ts'
import { operatorProblems } from './schema.ts'

const tag = 'Operator'

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

const WholeText = Type.String({
  minLength: 1,
  maxLength: 100_000,
  description: 'A whole catalogue as YAML. Masked addresses that `GET` returned stand for those in force',
  examples: ['zones:\n  - zone_slug: local-1\n'],
})

const CatalogCheck = Type.Object(
  { text: WholeText },
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

const CatalogReplacement = Type.Object(
  {
    text: WholeText,
    hash: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description:
        'The `hash` that `GET` returned with the text which this one was made from; with another one in force, nothing changes',
      examples: ['5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef'],
      errorMessage: 'must be the hash that GET /operator/catalog returned with the text.',
    }),
  },
  { title: 'CatalogReplacement', description: 'A catalogue to take into force' },
)

const ReplacedCatalog = Type.Object(
  {
    hash: Type.String({
      description: 'The hash of the text in force, for the next change',
      examples: ['0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f'],
    }),
    in_force_since: timestamp('When this process took it into force', '2026-11-28T10:00:00.000Z'),
    differences: Lines(
      `The differences to the catalogue before, as \`berthd catalog check\` prints them; at most ${MAX_LINES}, and none if the text was in force already`,
      [['preset nano: changed']],
    ),
  },
  { title: 'ReplacedCatalog', description: 'The catalogue that is in force' },
)

/** Shows, checks and replaces the catalogue, but for what names files, addresses and networks of the host. */
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
        'Lists the mistakes and the differences; nothing changes. Files and addresses of images are looked for only if they are in force, so that a token does not find out which files the host has.',
      body: CatalogCheck,
      reply: { 200: CheckedCatalog },
      makesNothing: true,
      run: ({ body }) => checkCatalog(options, body.text),
    }),
    replaceRoute(options),
  ]
}

function replaceRoute(options: OperatorCatalogOptions): Route {
  return route({
    id: 'replaceCatalog',
    method: 'PUT',
    path: '/operator/catalog',
    scope: 'operator:money',
    tag,
    summary: 'Replace the catalogue',
    description:
      "Checks the text as `POST /operator/catalog/check` does, writes it to the catalogue's file, and takes it into force: in this process at once, in others within two seconds. Drivers, clusters, address ranges and overcommit of zones, images of templates, sources of ISOs, the payment page and the bank account can't be changed, and zones, templates and ISOs can't be added or removed: 422 `validation_failed` names each such place. The text before stays beside the file. A repeat changes nothing.",
    body: CatalogReplacement,
    reply: { 200: ReplacedCatalog },
    errors: [operatorProblems.catalog_changed, operatorProblems.catalog_not_writable],
    run: async ({ body, report }) => {
      const changes = await replaceCatalogText(options, body)
      const { hash } = shownText(options)
      report({ event: 'catalog_changed', objectId: hash })
      return { hash, in_force_since: isoTime(sourceOf(options).inForce.since), differences: changes }
    },
  })
}

function textInForce(options: OperatorCatalogOptions): Static<typeof CatalogText> {
  const { since, faults } = sourceOf(options).inForce
  return { ...shownText(options), in_force_since: isoTime(since), errors: linesOf(faults) }
}

async function checkCatalog(
  options: OperatorCatalogOptions,
  text: string,
): Promise<Static<typeof CheckedCatalog>> {
  const tooLarge = sizeFault(text)
  if (tooLarge !== null)
    return { is_valid: false, errors: [tooLarge], differences: [], unchecked_sources: [] }
  const { db, clock, catalog } = options
  const source = sourceOf(options)
  const { parsed, faults, sources } = await source.check(unmask(text, source.inForce.text), clock.now())
  const changes = parsed ? differences(catalog, parsed, await payersOf(db).execute()) : []
  return {
    is_valid: faults.length === 0,
    ...{ errors: linesOf(faults), differences: linesOf(changes) },
    unchecked_sources: sources.slice(0, MAX_LINES),
  }
}
