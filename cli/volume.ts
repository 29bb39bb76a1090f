import type { Volume } from '@berth/sdk'
import { Command } from 'commander'
import { confirmName } from './ask.ts'
import { nothingToChange } from './errors.ts'
import { find, idOf, kind } from './find.ts'
import { wholeNumber } from './flags.ts'
import {
  type LabelChanges,
  type Labels,
  labelsAfter,
  labelText,
  withLabelChanges,
  withLabelFilter,
  withLabels,
} from './labels.ts'
import { type Columns, printable } from './output.ts'
import { placeOf } from './place.ts'
import { serverKind } from './server/kind.ts'
import { follow } from './server/power.ts'
import { action, listCommand, type Session } from './session.ts'
import { addWaitOptions, type WaitOptions, wantsWait } from './wait.ts'

export const volumeKind = kind({
  noun: 'volume',
  all: (berth) => berth.volumes.listAll(),
  id: ({ volume_id }) => volume_id,
  name: ({ name }) => name,
})

const columns = {
  id: ({ volume_id }) => volume_id,
  name: ({ name }) => name,
  status: ({ status }) => status,
  size_gb: ({ size_gb }) => size_gb,
  zone: ({ zone_slug }) => zone_slug,
  server: ({ server_id }) => server_id,
  device: ({ device }) => device,
  price_month: ({ price_month_rub }) => price_month_rub,
  labels: labelText,
  created: ({ created_at }) => created_at,
  updated: ({ updated_at }) => updated_at,
} satisfies Columns<Volume>

export function volumeCommand(): Command {
  return new Command('volume')
    .description('manage volumes: disks that can be moved between servers')
    .addCommand(
      withLabelFilter(
        listCommand({
          description: 'list volumes, newest first',
          columns,
          shown: ['id', 'name', 'status', 'size_gb', 'zone', 'server', 'price_month'],
          items: async ({ berth }, { server, label }: { server?: string; label?: string }) =>
            berth.volumes.listAll({
              label,
              ...(server && { server_id: await idOf(berth, serverKind, server) }),
            }),
        }).option('--server <server>', 'only volumes of this server, by name or id'),
        'volumes',
      ),
    )
    .addCommand(showCommand())
    .addCommand(createCommand())
    .addCommand(updateCommand())
    .addCommand(attachCommand())
    .addCommand(detachCommand())
    .addCommand(deleteCommand())
}

function showVolume({ show }: Session, volume: Volume): Promise<void> {
  return show(volume, {
    ID: columns.id,
    Name: columns.name,
    Status: columns.status,
    'Size in GB': columns.size_gb,
    Zone: columns.zone,
    Server: columns.server,
    Device: columns.device,
    'Price per month': columns.price_month,
    Labels: labelText,
    Created: columns.created,
  })
}

function showCommand(): Command {
  return new Command('show')
    .description('show a volume, with the path at which its server finds it')
    .argument('<volume>', 'name or id')
    .action(
      action(async (session, given: string) => {
        const { berth } = session
        await showVolume(session, await berth.volumes.get(await idOf(berth, volumeKind, given)))
      }),
    )
}

function createCommand(): Command {
  type Wanted = { size: number; zone?: string; label?: Labels }
  return withLabels(
    new Command('create')
      .description('create an empty volume')
      .argument('<name>', 'up to 100 characters')
      .requiredOption('--size <gb>', 'size in GB', wholeNumber)
      .option('--zone <zone>', 'zone (default: the first one)'),
  ).action(
    action(async (session, name: string, { size: size_gb, zone, label: labels }: Wanted) => {
      const { berth } = session
      const { zone_slug } = await placeOf(berth, { zone })
      await showVolume(session, await berth.volumes.create({ name, zone_slug, size_gb, labels }))
    }),
  )
}

function updateCommand(): Command {
  const command = new Command('update')
    .description('change the name and labels of a volume, or grow it, also while a server uses it')
    .argument('<volume>', 'name or id')
    .option('--name <name>', 'new name')
    .option('--size <gb>', 'larger size in GB', wholeNumber)
  type Changes = { name?: string; size?: number } & LabelChanges & WaitOptions
  return addWaitOptions(withLabelChanges(command)).action(
    action(async (session, given: string, options: Changes) => {
      const { berth } = session
      const { name, size: size_gb, label, removeLabel } = options
      if ((name ?? size_gb ?? label ?? removeLabel) === undefined) throw nothingToChange('volume')
      const volume = await find(berth, volumeKind, given)
      const change = { name, size_gb, ...labelsAfter(volume, options) }
      const reply = await berth.volumes.update(volume.volume_id, change)
      if (!('operation_id' in reply)) return showVolume(session, reply)
      await follow(session, name ?? volume.name, reply, options)
      // In a container it has no file system of its own.
      if (!volume.device?.startsWith('/dev/') || session.format !== 'table' || !wantsWait(session, options))
        return
      session.note('Grow its file system on the server: resize2fs for ext4, xfs_growfs for XFS.')
    }),
  )
}

function attachCommand(): Command {
  return addWaitOptions(
    new Command('attach')
      .description('attach a volume to a server of its zone, also while it runs')
      .argument('<volume>', 'name or id')
      .argument('<server>', 'name or id'),
  ).action(
    action(async (session, given: string, server: string, options: WaitOptions) => {
      const { berth } = session
      const { volume_id, name } = await find(berth, volumeKind, given)
      const server_id = await idOf(berth, serverKind, server)
      await follow(session, name, await berth.volumes.attach(volume_id, { server_id }), options)
      if (session.format !== 'table' || !wantsWait(session, options)) return
      const { device } = await berth.volumes.get(volume_id)
      session.note(`The server finds it at ${device}.`)
    }),
  )
}

function detachCommand(): Command {
  return addWaitOptions(
    new Command('detach')
      .description('detach a volume from its server; unmount it there first, or stop a container')
      .argument('<volume>', 'name or id'),
  ).action(
    action(async (session, given: string, options: WaitOptions) => {
      const { berth } = session
      const { volume_id, name } = await find(berth, volumeKind, given)
      await follow(session, name, await berth.volumes.detach(volume_id), options)
    }),
  )
}

function deleteCommand(): Command {
  return addWaitOptions(
    new Command('delete')
      .description('delete a volume with its data')
      .argument('<volume>', 'name or id')
      .option('-y, --yes', 'skip the confirmation'),
  ).action(
    action(async (session, given: string, options: { yes?: boolean } & WaitOptions) => {
      const { berth, terminal } = session
      const { volume_id, name } = await find(berth, volumeKind, given)
      await confirmName(terminal, {
        consequence: `This deletes the volume ${printable(name)} and all its data.`,
        verb: 'delete the volume',
        name,
        yes: options.yes,
      })
      await follow(session, name, await berth.volumes.delete(volume_id), options)
    }),
  )
}
