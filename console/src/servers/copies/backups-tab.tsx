import type { Backup, ServerDetails, ServerUpdate, Snapshot } from '@berth/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { berth, queryClient } from '../../client.ts'
import { UNKNOWN } from '../../format.ts'
import { useMay } from '../../session.ts'
import { Button } from '../../ui/button.tsx'
import { DeleteResource } from '../../ui/delete-resource.tsx'
import type { Example } from '../../ui/example.ts'
import { Check, SelectField } from '../../ui/field.tsx'
import { Allowed } from '../../ui/guarded.tsx'
import { Menu, type MenuItem } from '../../ui/menu.tsx'
import { Card } from '../../ui/page.tsx'
import { ShowAs } from '../../ui/show-as.tsx'
import { Failed, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { useUiText } from '../../ui/text.ts'
import { Time } from '../../ui/time.tsx'
import { refreshServers } from '../actions.ts'
import { useServer } from '../details/use-server.ts'
import { backupsQuery, snapshotsQuery } from './queries.ts'
import { RestoreCopy } from './restore-copy.tsx'
import { type Asked, Dialogs } from './snapshot-dialogs.tsx'
import { useSnapshotsText } from './text.ts'

/** The copies of a server's disk. */
export function BackupsTab() {
  const server = useServer()
  const has = (feature: 'backups' | 'snapshots') => server.zone?.features.includes(feature) === true
  return (
    <div className="stack">
      {has('backups') ? <Backups server={server} /> : null}
      {has('snapshots') ? <Snapshots server={server} /> : null}
    </div>
  )
}

function examplesOf({ server_id, name }: ServerDetails): Example[] {
  return [
    {
      route: 'GET /servers/{server_id}/backups',
      path: { server_id },
      berth: `berth backup list --server ${name}`,
      sdk: 'backups.ofServer',
    },
    {
      route: 'PATCH /servers/{server_id}',
      path: { server_id },
      body: { backups_enabled: true, backup_window: 3 },
      berth: `berth server update ${name} --backups --backup-window 3`,
      sdk: 'servers.update',
    },
    {
      route: 'POST /servers/{server_id}/restore',
      path: { server_id },
      body: { backup_id: '…' },
      berth: `berth server restore ${name} '${name} 2026-11-24 03:00'`,
      sdk: 'servers.restore',
    },
  ]
}

const hours = Array.from({ length: 24 }, (_, hour) => ({
  value: String(hour),
  title: `${String(hour).padStart(2, '0')}:00 UTC`,
}))

function Backups({ server }: { server: ServerDetails }) {
  const t = useSnapshotsText()
  const { server_id, backups_enabled, backup_window } = server
  const query = useQuery(backupsQuery(server_id))
  const update = useMutation({
    mutationFn: (change: ServerUpdate) => berth.servers.update(server_id, change),
    onSettled: () => Promise.all([refreshServers(), queryClient.invalidateQueries({ queryKey: ['backup'] })]),
  })
  return (
    <Card title={t.backups} actions={<ShowAs examples={examplesOf(server)} />}>
      <Allowed scope="servers:write">
        <div className="body stack">
          <Check
            checked={backups_enabled}
            disabled={update.isPending}
            onChange={(event) => update.mutate({ backups_enabled: event.target.checked })}
          >
            {t.backUp} <span className="muted">{t.backUpAbout}</span>
          </Check>
          {backup_window === null ? null : (
            <SelectField
              label={t.hour}
              value={String(backup_window)}
              options={hours}
              onChange={(hour) => update.mutate({ backup_window: Number(hour) })}
            />
          )}
          {update.error ? <Failed error={update.error} /> : null}
        </div>
      </Allowed>
      <Loaded query={query}>{({ items }) => <BackupTable server={server} items={items} />}</Loaded>
    </Card>
  )
}

type AskedBackup = { what: 'restore' | 'delete'; backup: Backup } | null

function BackupTable({ server, items }: { server: ServerDetails; items: readonly Backup[] }) {
  const t = useSnapshotsText()
  const [asked, setAsked] = useState<AskedBackup>(null)
  const keep = useMutation({
    mutationFn: ({ backup_id }: Backup) => berth.backups.keep(backup_id),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['backup'] }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['snapshot'] }),
  })
  if (items.length === 0) return <p className="body muted">{t.noBackups}</p>
  return (
    <>
      {keep.error ? <Failed error={keep.error} /> : null}
      <CopyTable
        label={t.backups}
        items={items}
        idOf={({ backup_id }) => backup_id}
        columns={[
          {
            title: t.starts,
            cell: ({ boot_result, boot_checked_at }) =>
              boot_result === null ? (
                UNKNOWN
              ) : (
                <span title={boot_checked_at ?? undefined}>{t.boots[boot_result]}</span>
              ),
          },
          {
            title: t.expires,
            cell: ({ expires_at }) => (expires_at === null ? UNKNOWN : <Time at={expires_at} />),
          },
        ]}
        actionsOf={(backup) => [
          {
            title: t.restore,
            isDangerous: true,
            isDisabled: !mayRestore(server, backup),
            onSelect: () => setAsked({ what: 'restore', backup }),
          },
          {
            title: t.keep,
            isDisabled: backup.status !== 'available',
            onSelect: () => keep.mutate(backup),
          },
          {
            title: t.delete,
            icon: 'trash',
            isDangerous: true,
            onSelect: () => setAsked({ what: 'delete', backup }),
          },
        ]}
      />
      {asked ? <BackupDialog server={server} asked={asked} onClose={() => setAsked(null)} /> : null}
    </>
  )
}

const mayRestore = ({ allowed_actions }: ServerDetails, { status }: Snapshot | Backup) =>
  status === 'available' && allowed_actions.includes('restore')

interface BackupDialogProps {
  server: ServerDetails
  asked: NonNullable<AskedBackup>
  onClose: () => void
}

function BackupDialog({ server, asked: { what, backup }, onClose }: BackupDialogProps) {
  const t = useSnapshotsText()
  const { backup_id, name } = backup
  if (what === 'restore')
    return (
      <RestoreCopy
        serverId={server.server_id}
        server={server.name}
        source={{ backup_id }}
        about={t.restoreBackupAbout(name)}
        onClose={onClose}
      />
    )
  return (
    <DeleteResource
      title={t.deleteBackupTitle(name)}
      name={name}
      resource="backup"
      remove={() => berth.backups.delete(backup_id)}
      onClose={onClose}
    >
      <p>{t.deleteAbout}</p>
    </DeleteResource>
  )
}

/** The snapshots of the server, which the page of all snapshots has, too. */
function Snapshots({ server }: { server: ServerDetails }) {
  const t = useSnapshotsText()
  const { server_id } = server
  const query = useQuery(snapshotsQuery)
  const [asked, setAsked] = useState<Asked>(null)
  const make = useMutation({
    mutationFn: () => berth.snapshots.create({ server_id }),
    onSettled: () =>
      Promise.all([refreshServers(), queryClient.invalidateQueries({ queryKey: ['snapshot'] })]),
  })
  const ask = (what: NonNullable<Asked>['what'], snapshot: Snapshot) => () => setAsked({ what, snapshot })
  return (
    <Card
      title={t.title}
      actions={
        <Allowed scope="servers:write">
          <Button
            icon="plus"
            isBusy={make.isPending}
            disabled={!server.allowed_actions.includes('snapshot')}
            onClick={() => make.mutate()}
          >
            {t.make}
          </Button>
        </Allowed>
      }
    >
      {make.error ? <Failed error={make.error} /> : null}
      <Loaded query={query}>
        {({ items }) => {
          const own = items.filter((snapshot) => snapshot.server_id === server_id)
          if (own.length === 0) return <p className="body muted">{t.noneAbout}</p>
          return (
            <CopyTable
              label={t.title}
              items={own}
              idOf={({ snapshot_id }) => snapshot_id}
              actionsOf={(snapshot) => [
                {
                  title: t.restore,
                  isDangerous: true,
                  isDisabled: !mayRestore(server, snapshot),
                  onSelect: ask('restore', snapshot),
                },
                { title: t.rename, onSelect: ask('rename', snapshot) },
                { title: t.delete, icon: 'trash', isDangerous: true, onSelect: ask('delete', snapshot) },
              ]}
            />
          )
        }}
      </Loaded>
      {asked ? <Dialogs asked={asked} server={server.name} onClose={() => setAsked(null)} /> : null}
    </Card>
  )
}

interface CopyTableProps<Copy> {
  label: string
  items: readonly Copy[]
  idOf: (copy: Copy) => string
  columns?: readonly Column<Copy>[]
  actionsOf: (copy: Copy) => readonly MenuItem[]
}

function CopyTable<Copy extends Snapshot | Backup>({
  label,
  items,
  idOf,
  columns = [],
  actionsOf,
}: CopyTableProps<Copy>) {
  const t = useSnapshotsText()
  const ui = useUiText()
  const may = useMay('servers:write')
  const nameOf = ({ name }: Copy) => name
  // An installation without a place off site has no column for it.
  const offSite: Column<Copy>[] = items.some(({ offsite_at }) => offsite_at !== null)
    ? [
        {
          title: t.offSite,
          cell: ({ offsite_at }) => (offsite_at === null ? t.notOffSite : <Time at={offsite_at} />),
        },
      ]
    : []
  const menu: Column<Copy>[] = may
    ? [
        {
          title: '',
          isNumber: true,
          cell: (copy) => <Menu label={ui.actions(copy.name)} items={actionsOf(copy)} />,
        },
      ]
    : []
  return (
    <Table
      label={label}
      rows={items}
      idOf={idOf}
      nameOf={nameOf}
      columns={[
        { title: t.name, cell: nameOf },
        {
          title: t.status,
          cell: ({ status, consistency }) => (
            <span title={consistency === 'crash' ? t.crash : undefined}>{t.statuses[status]}</span>
          ),
        },
        {
          title: t.size,
          isNumber: true,
          cell: ({ size_gb }) => (size_gb === null ? UNKNOWN : t.gb(size_gb)),
        },
        { title: t.created, cell: ({ created_at }) => <Time at={created_at} /> },
        {
          title: t.verified,
          cell: ({ verified_at }) => (verified_at === null ? UNKNOWN : <Time at={verified_at} />),
        },
        ...offSite,
        ...columns,
        ...menu,
      ]}
    />
  )
}
