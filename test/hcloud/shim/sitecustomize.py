"""Debian 12 has Ansible's modules for python-hcloud 1.20 beside version 1.18, which knows no architectures."""
from hcloud.images.client import ImagesClient
from hcloud.images.domain import Image
from hcloud.server_types.domain import ServerType

Image.architecture = ServerType.architecture = "x86"
known = ImagesClient.get_list
ImagesClient.get_list = lambda self, architecture=None, **more: known(self, **more)
