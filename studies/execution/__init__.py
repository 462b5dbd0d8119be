"""The one way to run many tasks: here, over processes or over Dask; streaming and resumable."""
