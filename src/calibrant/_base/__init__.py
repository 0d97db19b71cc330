"""What every package stands on: arrays, options, text, storage, threads."""
