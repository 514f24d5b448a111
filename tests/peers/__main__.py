"""Install everything that the servers need."""

from tests.peers import model, node

node.install_missing()
model.install_missing()
