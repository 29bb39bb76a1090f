import { useImagesText } from './images-text.ts'

/** How much of a file has arrived; nothing if none is uploaded. */
export function UploadProgress({ percent }: { percent: number | null }) {
  const t = useImagesText()
  if (percent === null) return null
  return (
    <p>
      <progress className="bar" max={100} value={percent} aria-label={t.uploading} /> {percent}%{' '}
      <span className="muted">{t.keepOpen}</span>
    </p>
  )
}
