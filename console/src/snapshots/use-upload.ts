import type { Berth, Image } from '@berth/sdk'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'

/** The object that a file becomes. */
type FromFile = Pick<Image, 'status' | 'name' | 'content_bytes'>

/** The calls for images, or for ISOs. */
interface FileCalls<Made extends FromFile> {
  name: string
  all: () => Promise<readonly Made[]>
  create: (bytes: number) => Promise<Made>
  id: (made: Made) => string
  upload: Berth['images']['upload']
  import: (id: string) => Promise<Made>
}

type Send = <Made extends FromFile>(file: File, calls: FileCalls<Made>) => Promise<Made>

/**
 * Creates something that may need a file to be uploaded; the upload ends when the form is closed.
 * @param make gets a function that uploads a file, or the rest of one whose upload was begun before
 */
export function useUpload(make: (send: Send) => Promise<unknown>, onMade: () => Promise<void>) {
  const [percent, setPercent] = useState<number | null>(null)
  const closing = useRef(new AbortController())
  useEffect(() => {
    closing.current = new AbortController()
    return () => closing.current.abort()
  }, [])
  const send: Send = async (file, calls) => {
    const { signal } = closing.current
    const begun =
      (await calls.all()).find(
        ({ status, name, content_bytes }) =>
          status === 'uploading' && name === calls.name && content_bytes === file.size,
      ) ?? (await calls.create(file.size))
    const onProgress = (arrived: number, all: number) => setPercent(Math.floor((arrived / all) * 100))
    await calls.upload(calls.id(begun), file, { signal, onProgress })
    return calls.import(calls.id(begun))
  }
  const create = useMutation({
    mutationFn: () => make(send),
    onSettled: () => setPercent(null),
    onSuccess: onMade,
  })
  return { create, percent }
}
