"""Published measurements that predictions are compared with, one document a set."""
