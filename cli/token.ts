import type { Berth, Token, TokenCreate } from '@berth/sdk'
import { Command, InvalidArgumentError, Option } from 'commander'
import { allOf } from './all.ts'
import { deleted } from './delete.ts'
import { Refusal } from './errors.ts'
import { idOf, kind } from './find.ts'
import { repeated } from './flags.ts'
import type { Columns } from './output.ts'
import { projectKind } from './project.ts'
import { action, listCommand, mustShow } from './session.ts'

export const tokenKind = kind({
  noun: 'token',
  all: (berth) => berth.tokens.listAll(),
  id: ({ token_id }) => token_id,
  name: ({ name }) => name,
})

const columns: Columns<Token> = {
  id: ({ token_id }) => token_id,
  name: ({ name }) => name,
  scopes: ({ scopes }) => scopes.join(','),
  cidrs: ({ cidrs }) => cidrs.join(','),
  expires: ({ expires_at }) => expires_at,
  last_used: ({ last_used_at }) => last_used_at,
  created: ({ created_at }) => created_at,
}

export function tokenCommand(): Command {
  return new Command('token')
    .description('manage API tokens')
    .addCommand(
      listCommand({
        description: 'list tokens that are not revoked, newest first',
        columns,
        shown: ['id', 'name', 'scopes', 'expires', 'last_used'],
        items: async ({ berth }) => berth.tokens.listAll(),
      }),
    )
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(removeCommand())
}

const addresses = ({ cidrs }: Token) => cidrs.join(', ') || 'any'

function showCommand(): Command {
  return new Command('show')
    .description('show a token, without its value')
    .argument('<token>', 'name or id')
    .action(
      action(async ({ berth, show }, given: string) => {
        await show(await berth.tokens.get(await idOf(berth, tokenKind, given)), {
          ID: ({ token_id }) => token_id,
          Name: ({ name }) => name,
          Scopes: ({ scopes }) => scopes.join(', '),
          Addresses: addresses,
          Expires: ({ expires_at }) => expires_at,
          'Last used': ({ last_used_at }) => last_used_at,
          Created: ({ created_at }) => created_at,
        })
      }),
    )
}

interface CreateOptions {
  scope: TokenCreate['scopes']
  expires?: string
  cidr?: string[]
  hcloud?: boolean
  project?: string
}

function createCommand(): Command {
  return new Command('create')
    .description('create a token; its value is shown only once')
    .argument('<name>', 'name of the token, such as its purpose')
    .requiredOption(
      '--scope <scope>',
      'scope to grant (repeatable): account:read, account:write, servers:read, servers:write, read or write',
      repeated,
    )
    .option(
      '--expires <when>',
      'lifetime, such as 30d or 12h, or date, such as 2027-01-01 (default: the expiry of your token)',
      (when) => expiry(when, Date.now()),
    )
    .option(
      '--cidr <range>',
      'address or range that it may be used from, such as 203.0.113.0/24 (repeatable; default: the ranges of your token)',
      repeated,
    )
    .addOption(
      new Option(
        '--hcloud',
        'for tools that speak the hcloud API, by default with the scopes read and write',
      ).implies({ scope: ['read', 'write'] }),
    )
    .option(
      '--project <project>',
      'project that a token for these tools sees, by name or id (default: yours)',
    )
    .action(
      action(async (session, name: string, options: CreateOptions) => {
        mustShow(session, 'token')
        const { berth, url, show, note } = session
        const created = await berth.tokens.create(await wantedToken(berth, name, options))
        await show(created, {
          ID: ({ token_id }) => token_id,
          Name: ({ name }) => name,
          Scopes: ({ scopes }) => scopes.join(', '),
          Addresses: addresses,
          Expires: ({ expires_at }) => expires_at,
          Token: ({ token }) => token,
        })
        if (options.hcloud) {
          note(`export HCLOUD_ENDPOINT=${new URL('/hcloud/v1', url)}`)
          note(`export HCLOUD_TOKEN=${created.token}`)
        }
        note('The token is shown only once. Store it in a safe place.')
      }),
    )
}

async function wantedToken(
  berth: Berth,
  name: string,
  { scope: scopes, expires, cidr: cidrs, hcloud, project }: CreateOptions,
): Promise<TokenCreate> {
  const project_id = project === undefined ? undefined : await idOf(berth, projectKind, project)
  return { name, scopes, expires_at: expires, cidrs, kind: hcloud ? 'hcloud' : undefined, project_id }
}

function removeCommand(): Command {
  return new Command('delete')
    .description('revoke a token immediately')
    .argument('<token>', 'name or id')
    .option('--keep-children', 'keep the tokens that were created with it, for a rotation')
    .addOption(
      new Option('--with-children', 'also revoke the tokens that were created with it').conflicts(
        'keepChildren',
      ),
    )
    .action(
      action(async ({ berth, note }, given: string, options: ChildrenOptions) => {
        const id = await idOf(berth, tokenKind, given)
        if (!options.keepChildren && !options.withChildren) await refuseParent(berth, id)
        await berth.tokens.delete(id, { keep_children: options.keepChildren ?? false })
        note(deleted(tokenKind, given))
      }),
    )
}

interface ChildrenOptions {
  keepChildren?: boolean
  withChildren?: boolean
}

/**
 * Refuses to revoke a token that others were created with. A rotated token creates its successor, so revoking it
 * without a question would lock the customer out.
 * @throws Refusal if tokens were created with this one, or with those
 */
async function refuseParent(berth: Berth, id: string): Promise<void> {
  const tokens = await allOf(berth.tokens.listAll())
  const childrenOf = (parent: string): Token[] =>
    tokens
      .filter(({ parent_token_id }) => parent_token_id === parent)
      .flatMap((child) => [child, ...childrenOf(child.token_id)])
  const names = childrenOf(id).map(({ name }) => name)
  if (names.length > 0)
    throw new Refusal(
      `Tokens created with this one would also be revoked: ${names.join(', ')}. Nothing was revoked.`,
      'Use --keep-children to keep them, or --with-children to revoke them.',
    )
}

const HOUR_MS = 3_600_000
const unitsMs = new Map([
  ['h', HOUR_MS],
  ['d', 24 * HOUR_MS],
  ['w', 7 * 24 * HOUR_MS],
])

/** An RFC 3339 time; days start in UTC. @throws InvalidArgumentError, which commander prints with the option's name */
function expiry(when: string, now: number): string {
  const [, count, unit = ''] = /^(\d{1,5})([hdw])$/.exec(when) ?? []
  if (count !== undefined) return new Date(now + Number(count) * (unitsMs.get(unit) ?? 0)).toISOString()
  if (/^\d{4}-\d\d-\d\d$/.test(when)) return `${when}T00:00:00Z`
  if (/^\d{4}-\d\d-\d\dT/.test(when)) return when
  throw new InvalidArgumentError('It must look like 30d, 12h, 2w or 2027-01-01.')
}
