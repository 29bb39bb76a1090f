import type { Delivery, NewWebhook, Webhook, WebhookCreate } from '@berth/sdk'
import { Command, Option } from 'commander'
import { deleteCommand } from './delete.ts'
import { exitCodes, nothingToChange, Refusal } from './errors.ts'
import { idOf, kind } from './find.ts'
import { addLimitOption, type LimitOptions, repeated, upTo } from './flags.ts'
import type { Columns } from './output.ts'
import { action, listCommand, mustShow, type Session } from './session.ts'

export const webhookKind = kind({
  noun: 'webhook',
  all: (berth) => berth.webhooks.listAll(),
  id: ({ webhook_id }) => webhook_id,
  name: ({ name }) => name,
})

const columns: Columns<Webhook> = {
  id: ({ webhook_id }) => webhook_id,
  name: ({ name }) => name,
  url: ({ url }) => url,
  events: ({ event_types }) => event_types.join(','),
  enabled: ({ is_enabled }) => is_enabled,
  disabled_reason: ({ disabled_reason }) => disabled_reason,
  verification: ({ verification }) => verification.status,
  created: ({ created_at }) => created_at,
}

const card: Columns<Webhook> = {
  ID: ({ webhook_id }) => webhook_id,
  Name: ({ name }) => name,
  URL: ({ url }) => url,
  Events: ({ event_types }) => event_types.join(', '),
  Enabled: ({ is_enabled }) => is_enabled,
  'Disabled reason': ({ disabled_reason }) => disabled_reason,
  Verification: ({ verification: { status, error } }) => (error === null ? status : `${status}: ${error}`),
}

export function webhookCommand(): Command {
  return new Command('webhook')
    .description('manage webhooks')
    .addCommand(
      listCommand({
        description: 'list webhooks, newest first',
        columns,
        shown: ['id', 'name', 'url', 'events', 'enabled', 'disabled_reason', 'verification'],
        items: async ({ berth }) => berth.webhooks.listAll(),
      }),
    )
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(updateCommand())
    .addCommand(
      deleteCommand(webhookKind, 'delete a webhook and its delivery history', (berth, id) =>
        berth.webhooks.delete(id),
      ),
    )
    .addCommand(verifyCommand())
    .addCommand(testCommand())
    .addCommand(rotateSecretCommand())
    .addCommand(deliveriesCommand())
}

function showCommand(): Command {
  return new Command('show')
    .description('show a webhook, without its secret')
    .argument('<webhook>', 'name or id')
    .action(
      action(async ({ berth, show }, given: string) => {
        await show(await berth.webhooks.get(await idOf(berth, webhookKind, given)), card)
      }),
    )
}

interface CreateOptions {
  /** Not --url, which is the API's address: the token would be sent there. */
  to: string
  event?: WebhookCreate['event_types']
  disable?: boolean
}

function createCommand(): Command {
  return new Command('create')
    .description('create a webhook; its secret is shown only once')
    .argument('<name>', 'what it is for')
    .requiredOption('--to <url>', 'URL to send events to')
    .option(
      '--event <type>',
      'event type to send, such as server.created (repeatable; default: all)',
      repeated,
    )
    .option('--disable', 'create it disabled')
    .action(
      action(async (session, name: string, { to: url, event, disable }: CreateOptions) => {
        mustShow(session, 'secret')
        const created = await session.berth.webhooks.create({
          name,
          url,
          event_types: event ?? ['*'],
          is_enabled: !disable,
        })
        await showSecret(session, created)
        session.note(nextStep(name))
      }),
    )
}

async function showSecret({ show, note }: Session, webhook: NewWebhook): Promise<void> {
  await show(webhook, { ...card, Secret: () => webhook.secret })
  note('The secret is shown only once. Use it to verify the signatures of events.')
}

/** The next step after a change of address. */
const nextStep = (webhook: string) =>
  `Events are sent once the endpoint has answered a challenge. Once the endpoint has the secret, run: berth webhook verify ${webhook}`

interface UpdateOptions extends Partial<CreateOptions> {
  name?: string
  enable?: boolean
}

function updateCommand(): Command {
  return new Command('update')
    .description('change, enable or disable a webhook')
    .argument('<webhook>', 'name or id')
    .option('--name <name>', 'new name')
    .option('--to <url>', 'new URL')
    .option('--event <type>', "event types to send instead (repeatable); '*' for all", repeated)
    .option('--enable', 'start sending again')
    .addOption(new Option('--disable', 'stop sending; pending deliveries fail').conflicts('enable'))
    .action(
      action(async ({ berth, show, note }, given: string, options: UpdateOptions) => {
        const { name, to: url, event: event_types, enable, disable } = options
        if (Object.keys(options).length === 0) throw nothingToChange('webhook')
        const is_enabled = enable ?? (disable ? false : undefined)
        const webhook_id = await idOf(berth, webhookKind, given)
        const updated = await berth.webhooks.update(webhook_id, { name, url, event_types, is_enabled })
        await show(updated, card)
        if (url !== undefined && updated.verification.status === 'pending') note(nextStep(updated.name))
      }),
    )
}

function verifyCommand(): Command {
  return new Command('verify')
    .description('enable a webhook, send a challenge unless it is verified, and wait for the result')
    .argument('<webhook>', 'name or id')
    .action(
      action(async ({ berth, show }, given: string) => {
        const webhook = await berth.webhooks.verify(await idOf(berth, webhookKind, given))
        await show(webhook, card)
        const { status, error } = webhook.verification
        if (status !== 'verified')
          throw new Refusal(
            `The endpoint has not answered a challenge${error === null ? ' yet.' : `: ${error}`}`,
            'It must reply with the value of data.challenge and nothing else. Challenges are repeated for a day.',
            exitCodes.error,
          )
      }),
    )
}

function testCommand(): Command {
  return new Command('test')
    .description('send a webhook.test event, ahead of pending deliveries')
    .argument('<webhook>', 'name or id')
    .action(
      action(async ({ berth, show, note }, given: string) => {
        const tested = await berth.webhooks.test(await idOf(berth, webhookKind, given))
        await show(tested, { Event: ({ event_id }) => event_id })
        note(`See the result with: berth webhook deliveries ${given}`)
      }),
    )
}

function rotateSecretCommand(): Command {
  return new Command('rotate-secret')
    .description('create a new secret, shown only once; the old one stays valid for 24 hours')
    .argument('<webhook>', 'name or id')
    .action(
      action(async (session, given: string) => {
        mustShow(session, 'secret')
        const { berth } = session
        await showSecret(session, await berth.webhooks.rotateSecret(await idOf(berth, webhookKind, given)))
      }),
    )
}

const deliveryColumns: Columns<Delivery> = {
  id: ({ delivery_id }) => delivery_id,
  event: ({ event_id }) => event_id,
  type: ({ event_type }) => event_type,
  status: ({ status }) => status,
  attempts: ({ attempts }) => attempts.length,
  reply: ({ attempts }) => attempts.at(-1)?.reply_status,
  error: ({ attempts }) => attempts.at(-1)?.error,
  created: ({ created_at }) => created_at,
}

function deliveriesCommand(): Command {
  return addLimitOption(
    listCommand({
      name: 'deliveries',
      description: 'list deliveries, newest first; -o json includes each attempt and its reply',
      columns: deliveryColumns,
      shown: ['id', 'type', 'status', 'attempts', 'reply', 'error', 'created'],
      items: async (session, options: LimitOptions, webhook = '') => {
        const { berth } = session
        const webhook_id = await idOf(berth, webhookKind, webhook)
        return upTo(session, options, berth.webhooks.allDeliveries(webhook_id))
      },
    }).argument('<webhook>', 'name or id'),
  )
}
