import { Command, Option } from 'commander'
import {
  announcementView,
  createAnnouncement,
  endAnnouncement,
  listAnnouncements,
  operatedView,
  updateAnnouncement,
} from '../announcements/announcements.ts'
import { AnnouncementCreate, AnnouncementUpdate } from '../announcements/schema.ts'
import type { AnnouncementTable } from '../announcements/tables.ts'
import { systemClock as clock } from '../clock.ts'
import { ConfigError } from '../config.ts'
import type { Database } from '../database/database.ts'
import { catalogInForce } from './catalog.ts'
import { requireValid } from './checked.ts'
import { paged, printMore } from './listing.ts'
import { type ReadConfig, withDatabase } from './operator.ts'
import { printFields, printTable } from './print.ts'
import { repeated } from './token.ts'

const kinds = ['maintenance', 'incident', 'notice'] as const

interface Given {
  kind?: (typeof kinds)[number]
  en?: string
  ru?: string
  zone?: string[]
  starts?: string
  ends?: string
}

export function announcementCommands(config: ReadConfig): Command {
  const announcement = new Command('announcement').description(
    'announce maintenance, incidents and news to customers, in the console and by mail',
  )
  const list = announcement.command('list').description('list announcements, ended ones too, newest first')
  paged(list, 'announcements').action(async (page: { limit: number; offset: number }) => {
    await withDatabase(config(), 'announcement list', async (db) => {
      const { items, total } = await listAnnouncements(db, page)
      const rows = items
        .map(operatedView(clock.now()))
        .map((row) => [
          row.announcement_id,
          row.kind,
          row.zones.join(' ') || 'all',
          ...[row.starts_at, row.ends_at ?? '', row.ended_at ?? '', row.text.en],
        ])
      printTable(['ANNOUNCEMENT', 'KIND', 'ZONES', 'STARTS', 'ENDS', 'ENDED', 'TEXT'], rows)
      printMore(page, rows.length, total, 'announcements')
    })
  })
  addCreateCommand(announcement, config)
  addUpdateCommand(announcement, config)
  announcement
    .command('end')
    .description('end an announcement: customers no longer see it')
    .argument('<announcement>', 'id')
    .action(async (id: string) => {
      await change(config, 'announcement end', (place) => endAnnouncement(place, id))
    })
  return announcement
}

function addCreateCommand(announcement: Command, config: ReadConfig): void {
  described(announcement.command('create'), 'now')
    .description('announce something; owners of accounts get one mail')
    .action(async ({ kind = 'maintenance', en, ru, zone, starts, ends }: Given) => {
      if (en === undefined || ru === undefined)
        throw new ConfigError('Give the text in both languages: --en and --ru.')
      await change(config, 'announcement create', async (place) => {
        const body = requireValid(AnnouncementCreate, {
          ...{ kind, text: { en, ru } },
          ...(zone && { zones: zone }),
          ...(starts !== undefined && { starts_at: starts }),
          ...(ends !== undefined && { ends_at: ends }),
        })
        return (await createAnnouncement(place, body)).row
      })
    })
}

function addUpdateCommand(announcement: Command, config: ReadConfig): void {
  described(announcement.command('update'), 'unchanged')
    .description('change an announcement; nobody gets a second mail')
    .argument('<announcement>', 'id')
    .action(async (id: string, { kind, en, ru, zone, starts, ends }: Given) => {
      if ((en === undefined) !== (ru === undefined))
        throw new ConfigError('Give the text in both languages: --en and --ru.')
      await change(config, 'announcement update', async (place) => {
        const body = requireValid(AnnouncementUpdate, {
          ...(kind && { kind }),
          ...(en !== undefined && ru !== undefined && { text: { en, ru } }),
          ...(zone && { zones: zone }),
          ...(starts !== undefined && { starts_at: starts }),
          ...(ends !== undefined && { ends_at: ends }),
        })
        return updateAnnouncement(place, id, body)
      })
    })
}

type Place = Parameters<typeof createAnnouncement>[0]

async function change(
  config: ReadConfig,
  action: string,
  run: (place: Place) => Promise<AnnouncementTable>,
): Promise<void> {
  const parsed = config()
  const { catalog } = await catalogInForce(parsed)
  await withDatabase(parsed, action, async (db: Database) => print(await run({ db, clock, catalog })))
}

function described(command: Command, start: string): Command {
  return command
    .addOption(new Option('--kind <kind>', 'kind (default on creation: maintenance)').choices(kinds))
    .option('--en <text>', 'text in English')
    .option('--ru <text>', 'text in Russian')
    .addOption(
      new Option('--zone <zone>', 'zone that it is about, for all without one (repeatable)').argParser(
        repeated,
      ),
    )
    .option('--starts <time>', `planned start, such as 2030-01-31T01:00:00Z (default: ${start})`)
    .option('--ends <time>', 'planned end; without one it lasts until it is ended')
}

function print(row: AnnouncementTable): void {
  const { announcement_id, kind, zones, starts_at, ends_at } = announcementView(row)
  printFields([
    ['announcement', announcement_id],
    ['kind', kind],
    ['zones', zones.join(' ') || 'all'],
    ['starts', starts_at],
    ['ends', ends_at ?? ''],
  ])
}
