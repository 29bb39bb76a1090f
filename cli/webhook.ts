import type { Delivery, NewWebhook, Webhook, WebhookCreate } from '@berth/sdk'
import { Command, Option } from 'commander'
import { deleteCommand } from './delete.ts'
import { nothingToChange } from './errors.ts'
import { idOf } from './find.ts'
import { addLimitOption, type LimitOptions, repeated, upTo } from './flags.ts'
import type { Columns } from './output.ts'
import { action, listCommand, mustShow, type Session } from './session.ts'

const columns: Columns<Webhook> = {
  id: ({ webhook_id }) => webhook_id,
  name: ({ name }) => name,
  url: ({ url }) => url,
  events: ({ event_types }) => event_types.join(','),
  enabled: ({ is_enabled }) => is_enabled,
  disabled_reason: ({ disabled_reason }) => disabled_reason,
  created: ({ created_at }) => created_at,
}

const card: Columns<Webhook> = {
  Id: ({ webhook_id }) => webhook_id,
  Name: ({ name }) => name,
  URL: ({ url }) => url,
  Events: ({ event_types }) => event_types.join(', '),
  Enabled: ({ is_enabled }) => is_enabled,
  'Disabled because': ({ disabled_reason }) => disabled_reason,
}

export function webhookCommand(): Command {
  return new Command('webhook')
    .description('addresses of yours that events are sent to')
    .addCommand(
      listCommand({
        description: 'all webhooks, the newest first',
        columns,
        shown: ['id', 'name', 'url', 'events', 'enabled', 'disabled_reason'],
        items: async ({ berth }) => berth.webhooks.listAll(),
      }),
    )
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(updateCommand())
    .addCommand(
      deleteCommand('webhook', 'delete a webhook, with the record of what was sent to it', (berth, id) =>
        berth.webhooks.delete(id),
      ),
    )
    .addCommand(testCommand())
    .addCommand(rotateSecretCommand())
    .addCommand(deliveriesCommand())
}

function showCommand(): Command {
  return new Command('show')
    .description('a webhook as it stands; its secret is not shown again')
    .argument('<webhook>', 'name or id')
    .action(
      action(async ({ berth, show }, given: string) => {
        await show(await berth.webhooks.get(await idOf(berth, 'webhook', given)), card)
      }),
    )
}

interface CreateOptions {
  /** Not --url, which is the address of the API: the token would be sent there. */
  to: string
  event?: WebhookCreate['event_types']
  disable?: boolean
}

function createCommand(): Command {
  return new Command('create')
    .description('have events sent to an address of yours; the secret is shown this once')
    .argument('<name>', 'what it is for')
    .requiredOption('--to <url>', 'where events are posted to')
    .option(
      '--event <type>',
      'what is sent, such as server.created; again for each; all without it',
      repeated,
    )
    .option('--disable', 'send nothing yet')
    .action(
      action(async (session, name: string, { to: url, event, disable }: CreateOptions) => {
        mustShow(session, 'secret')
        const made = await session.berth.webhooks.create({
          name,
          url,
          event_types: event ?? ['*'],
          is_enabled: !disable,
        })
        await showSecret(session, made)
      }),
    )
}

async function showSecret({ show, note }: Session, webhook: NewWebhook): Promise<void> {
  await show(webhook, { ...card, Secret: () => webhook.secret })
  note('The secret is shown only this once: whoever gets the events checks their signature with it.')
}

interface UpdateOptions extends Partial<CreateOptions> {
  name?: string
  enable?: boolean
}

function updateCommand(): Command {
  return new Command('update')
    .description('change a webhook, or enable it again')
    .argument('<webhook>', 'name or id')
    .option('--name <name>', 'another name')
    .option('--to <url>', 'another address')
    .option('--event <type>', "what is sent in place of what was; again for each; '*' is all", repeated)
    .option('--enable', 'begin anew')
    .addOption(new Option('--disable', 'send nothing, and give up what was not sent').conflicts('enable'))
    .action(
      action(async ({ berth, show }, given: string, options: UpdateOptions) => {
        const { name, to: url, event: event_types, enable, disable } = options
        if (Object.keys(options).length === 0) throw nothingToChange('webhook')
        const is_enabled = enable ?? (disable ? false : undefined)
        const webhook_id = await idOf(berth, 'webhook', given)
        await show(await berth.webhooks.update(webhook_id, { name, url, event_types, is_enabled }), card)
      }),
    )
}

function testCommand(): Command {
  return new Command('test')
    .description('send an event webhook.test, before all that waits')
    .argument('<webhook>', 'name or id')
    .action(
      action(async ({ berth, show, note }, given: string) => {
        const tested = await berth.webhooks.test(await idOf(berth, 'webhook', given))
        await show(tested, { Event: ({ event_id }) => event_id })
        note(`See what became of it with: berth webhook deliveries ${given}`)
      }),
    )
}

function rotateSecretCommand(): Command {
  return new Command('rotate-secret')
    .description('make a new secret, shown this once; the former one signs as well for 24 hours')
    .argument('<webhook>', 'name or id')
    .action(
      action(async (session, given: string) => {
        mustShow(session, 'secret')
        const { berth } = session
        await showSecret(session, await berth.webhooks.rotateSecret(await idOf(berth, 'webhook', given)))
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
      description: 'what was sent, the newest first; -o json has each attempt and the reply to it',
      columns: deliveryColumns,
      shown: ['id', 'type', 'status', 'attempts', 'reply', 'error', 'created'],
      items: async (session, options: LimitOptions, webhook = '') => {
        const { berth } = session
        const webhook_id = await idOf(berth, 'webhook', webhook)
        return upTo(session, options, berth.webhooks.allDeliveries(webhook_id))
      },
    }).argument('<webhook>', 'name or id'),
  )
}
